"""A backend of the agenthooksprotocol package: ahp_server.py MODE SCRIPT LOG.

MODE is stdio or http; http prints its port. SCRIPT is a JSON object: for an event
id the effects to answer with, or "raise" to fail; other events get none. Its member
manifest is what hooks/capabilities answers. Each event that the package
hands on is appended to LOG, one JSON object a line."""

import asyncio
import json
import socket
import sys

from agenthooksprotocol import _models, effect
from agenthooksprotocol.server import asgi, hooks, stdio

CLASSES = {
    "deny": effect.DenyEffect, "allow": effect.AllowEffect, "ask": effect.AskEffect,
    "message": effect.MessageEffect, "inject": effect.InjectEffect,
    "stop": effect.StopFlowEffect, "continue": effect.ContinueFlowEffect,
}


def decode(event_type, raw):
    """The package's own model of one effect at this event."""
    if raw["type"] == "flow":
        return CLASSES[raw["operation"]].from_dict(raw)
    if raw["type"] in CLASSES:
        return CLASSES[raw["type"]].from_dict(raw)
    if raw["type"] == "modify":
        value = raw["value"]
        if raw["target"] == "input":
            return effect.ModifyInputEffect.from_dict(raw)
        if raw["target"] == "workspace":
            return effect.ModifyWorkspaceEffect.from_dict(raw)
        if isinstance(value, dict):
            return effect.ModifyFormEffect.from_dict(raw)
        if raw["target"] in ("instructions", "summary"):
            return effect.ModifyTextEffect.from_dict(raw)
        return effect.ModifyMessagesEffect.from_dict(raw)
    return {
        "tool.before": effect.ReturnToolEffect,
        "model.request.before": effect.ReturnMessagesEffect,
        "context.compact.before": effect.ReturnTextEffect,
        "user.elicitation.request": effect.ReturnElicitResultEffect,
    }[event_type].from_dict(raw)


def handlers(script, log):
    def note(context):
        e = context.raw["params"]["event"]
        record = {"method": context.raw["method"], "id": e["id"], "event": e}
        log.write(json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n")
        log.flush()

    def intercept(reply):
        def decide(context):
            note(context)
            e = context.raw["params"]["event"]
            effects = script.get(e["id"], [])
            if effects == "raise":
                raise RuntimeError("scripted")
            return reply(effects=tuple(decode(e["type"], x) for x in effects))

        return decide

    names = [f for f in hooks.InterceptHandlers.__dataclass_fields__]
    replies = {n: getattr(hooks, "".join(w.title() for w in n.split("_")) + "Reply") for n in names}
    return hooks.Handlers(
        intercept=hooks.InterceptHandlers(**{n: intercept(r) for n, r in replies.items()}),
        observe=hooks.ObserveHandlers(any=note),
    )


def main():
    mode, script, log = sys.argv[1:]
    with open(script, encoding="utf-8") as f:
        script = json.load(f)
    with open(log, "a", encoding="utf-8") as out:
        manifest = script.pop("manifest", None)
        served = handlers(script, out)
        if mode == "stdio":
            asyncio.run(stdio.serve(served, harness_manifest=manifest))
            return
        import uvicorn

        sock = socket.socket()
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        print(sock.getsockname()[1], flush=True)
        app = asgi.App(served, harness_manifest=manifest)
        uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="error", access_log=False)).run([sock])


if __name__ == "__main__":
    main()
