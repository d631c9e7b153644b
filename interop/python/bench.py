"""Times emissions of agent-hooks-sdk: bench.py SECONDS < contexts, one JSON
context per line. Prints nanoseconds per emission, one line per context."""

import asyncio
import json
import sys
import time

from agent_hooks._types import Verdict
from agent_hooks.emitter import InterceptionEmitter


class AllowAll:
    def intercept(self, context):
        return Verdict.allow()


async def measure(context, seconds):
    emitter = InterceptionEmitter().register(AllowAll())
    emitter.set_max_records(16)
    best = float("inf")
    await emitter.emit_unchecked(context)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter_ns()
        for _ in range(20):
            await emitter.emit_unchecked(context)
        best = min(best, (time.perf_counter_ns() - start) / 20)
    record = emitter.take_records()[-1].to_wire()
    if record["verdict"]["decision"] != "allow":
        raise SystemExit(f"the emission was not allowed: {record}")
    return best


def main():
    for line in sys.stdin:
        print(round(asyncio.run(measure(json.loads(line), float(sys.argv[1])))))


if __name__ == "__main__":
    main()
