"""Runs the vectors that agent-hooks-sdk brings along against a host process:
run_ctk.py COMMAND ARG... One JSON line per vector."""

import json
import sys

from agent_hooks.ctk import load_vectors, run_vectors

from holdpoint_host import HostHarness, Peer


def main():
    peer = Peer(sys.argv[1:])
    for r in run_vectors(lambda: HostHarness(peer), load_vectors()):
        print(json.dumps({"id": r.id, "status": r.status, "detail": r.detail,
                          "failures": r.failures}))
    return peer.close()


if __name__ == "__main__":
    sys.exit(main())
