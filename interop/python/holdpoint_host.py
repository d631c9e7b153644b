"""Puts a host behind the line protocol (docs/conform-host.md) under the test kit
of the agent-hooks-sdk package: its Harness interface on one side, messages on
the other."""

import json
import subprocess

from agent_hooks.approval import ApprovalRequest
from agent_hooks._types import HostError, InterceptionPoint, Verdict
from agent_hooks.ctk.harness import Capability, RunOutcome, RunRecord


class Peer:
    """One host process. It serves one vector after the other."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        self.surface = self.ask(
            {"type": "hello", "protocol": 1, "spec": "agent-hooks/0.1"}, "surface"
        )

    def send(self, message):
        self.process.stdin.write(json.dumps(message, ensure_ascii=False) + "\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the host ended its output")
        message = json.loads(line)
        if message["type"] == "error":
            raise RuntimeError(message["message"])
        return message

    def ask(self, message, want):
        self.send(message)
        answer = self.receive()
        if answer["type"] != want:
            raise RuntimeError(f"expected {want}, the host sent {answer['type']}")
        return answer

    def close(self):
        self.process.stdin.close()
        return self.process.wait(timeout=120)


def scenario_json(scenario):
    tools = []
    for tool in scenario.tools.values():
        behavior = []
        for b in tool.behavior:
            entry = {"return": b.return_, "is_error": b.is_error}
            if b.when_args is not None:
                entry["when_args"] = b.when_args
            behavior.append(entry)
        tools.append({"name": tool.name, "schema": tool.schema, "behavior": behavior})
    model = [
        {
            "respond": {
                "content": m.content,
                "tool_calls": m.tool_calls,
                "finish_reason": m.finish_reason,
            }
        }
        for m in scenario.model_script
    ]
    sent = {"content": scenario.input["content"], "role": scenario.input["role"]}
    return {"input": sent, "tools": tools, "model_script": model}


def offered(verdict):
    """The verdict of an approval request; the host may have made it itself."""
    reason = verdict.get("reason") or ""
    if reason.startswith("host_error:"):
        return Verdict.host_error(HostError(reason), liftable=True)
    return Verdict.from_wire(verdict)


class HostHarness:
    """The package's Harness interface for a Peer."""

    name = "holdpoint"

    # What this interface can carry: it has no way to report streamed text, so
    # incremental_output stays undeclared here, and its vectors are skipped.
    carried = {"model_calls", "tool_calls", "int64_json", "bigint_json", "multi_turn",
               "parallel_tool_calls", "streaming"}

    def __init__(self, peer):
        self.peer = peer
        declared = self.carried & set(peer.surface["capabilities"])
        self.capabilities = {Capability(c) for c in declared}
        self.tool_seam_host_error = peer.surface["postures"]["tool_seam_host_error"]

    def setup(self, scenario, interceptors, resolver, mode, composition, identity_provider,
              redact_for_approval=None):
        self.interceptors = interceptors
        self.resolver = resolver
        self.peer.ask(
            {
                "type": "setup",
                "vector": "AH-CTK-000",
                "mode": mode.value,
                "composition": composition.to_wire(),
                "identity_provider": identity_provider,
                "interceptors": len(interceptors),
                "resolver": resolver is not None,
                "redact_for_approval": redact_for_approval or [],
                "scenario": scenario_json(scenario),
            },
            "ready",
        )

    async def run(self):
        self.peer.send({"type": "run"})
        while True:
            message = self.peer.receive()
            if message["type"] == "intercept":
                self.peer.send(self.intercept(message))
            elif message["type"] == "resolve":
                self.peer.send(self.resolve(message))
            elif message["type"] == "result":
                return RunRecord(
                    outcome=RunOutcome(message["outcome"]),
                    final_output=message["final_output"],
                    tool_invocations=message["tool_invocations"],
                    error=message.get("error"),
                    identities=[
                        (i["input_identity"], i["enforced_identity"])
                        for i in message["identities"]
                    ],
                    records=message["records"],
                )
            else:
                raise RuntimeError(f"unexpected message {message['type']}")

    def intercept(self, message):
        answer = {"type": "verdict", "call": message["call"]}
        try:
            verdict = self.interceptors[message["interceptor"]].intercept(message["context"])
        except RuntimeError:  # the scripted fault
            return answer | {"fault": "raise"}
        if isinstance(verdict, Verdict):
            verdict = verdict.to_wire()
        if message["context"].get("target") == "TAMPERED":
            answer["fault"] = "mutate"
        return answer | {"verdict": verdict}

    def resolve(self, message):
        answer = {"type": "resolution", "call": message["call"]}
        request = message["request"]
        try:
            r = self.resolver.resolve(
                ApprovalRequest(
                    context_identity=request["context_identity"],
                    interception_point=InterceptionPoint(request["interception_point"]),
                    verdict=offered(request["verdict"]),
                    context=request["context"],
                )
            )
        except RuntimeError:  # the scripted fault
            return answer | {"fault": "raise"}
        resolution = {"outcome": r.outcome.value, "context_identity": r.context_identity}
        if r.verdict is not None:
            resolution["verdict"] = r.verdict.to_wire()
        return answer | {"resolution": resolution}

    def teardown(self):
        self.peer.ask({"type": "teardown"}, "done")
