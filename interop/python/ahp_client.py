"""Drives the harness of the agenthooksprotocol package: ahp_client.py < job.

The job is one JSON object: registration, source, and steps, each with the event
type, the event id, the payload, and for an answer to an elicitation the event of
its request. One JSON line per step says how it was settled."""

import asyncio
import dataclasses
import json
import sys

from agenthooksprotocol import Hooks, capability, event


def everything():
    """Host capabilities that grant all that the package lets a host grant."""
    declared = {}
    for f in dataclasses.fields(capability.HostCapabilities):
        stem = "".join(word.title() for word in f.name.split("_"))
        grants = {"observe": True}
        intercept = getattr(capability, stem + "Intercept", None)
        if intercept is not None:
            grants["intercept"] = intercept(**{g.name: grant(g) for g in dataclasses.fields(intercept)
                                               if grant(g) is not None})
        declared[f.name] = getattr(capability, stem + "Capabilities")(**grants)
    return capability.HostCapabilities(**declared)


def grant(field):
    if field.type == "bool":
        return True
    if field.name.startswith("modify_"):
        return capability.Modify.REPLACE_AND_MERGE
    if field.name == "inject_context":
        return capability.InjectContext(deliver_at=(capability.Delivery.NOW, capability.Delivery.NEXT_TURN))
    if "FlowContinue" in field.type:
        return capability.FlowContinue(remaining_continuations=2, continuation_count=0, include_stop=True)
    if field.name == "flow":
        return capability.FlowStop()
    if field.name == "elicitation":
        return capability.Elicitation.FORM_AND_URL
    raise ValueError(field)


async def settle(hooks, step, source):
    options = {"event_id": step["id"]}
    if step.get("original"):
        options["original_request"] = step["original"]
    payload = step["input"]
    if payload.get("manifest") == "MANIFEST":
        payload["manifest"] = hooks.manifest
    result = await hooks.dispatch(step["event"], payload, **options)
    state = result._state
    return {
        "id": step["id"],
        "permission": result.permission.value,
        "flow": None if result.flow is None else result.flow.value,
        "instructions": result.instructions,
        "candidate": state.get("candidate"),
        "messages": [m["text"] for m in result.messages],
        "injections": [dict(i) for i in result.injections],
        "event": dict(result.event),
        "diagnostics": [dict(d) for d in result.diagnostics],
    }


async def main():
    job = json.load(sys.stdin)
    async with Hooks(job["registration"], source=job["source"], capabilities=everything(),
                     harness=event.Harness(name="interop", version="1"), inherit_environment=True) as hooks:
        for d in hooks.configuration_diagnostics:
            print(json.dumps({"configuration": d}))
        for step in job["steps"]:
            try:
                out = await settle(hooks, step, job["source"])
            except Exception as exc:  # one step that fails says so, and the others go on
                out = {"id": step["id"], "error": f"{type(exc).__name__}: {exc}"}
            print(json.dumps(out, default=str), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
