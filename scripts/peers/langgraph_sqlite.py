"""A hold in LangGraph on its SQLite saver: interrupt, then resume with an answer.

Prints one JSON object: milliseconds per cycle (median) and bytes stored per cycle.
"""

import json
import os
import sqlite3
import sys
import tempfile
import time
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt


class State(TypedDict):
    draft: str
    verdict: str


def ask(state: State) -> dict:
    return {"verdict": interrupt(state["draft"])}


def main(cycles: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "peer.db")
        connection = sqlite3.connect(path, check_same_thread=False)
        saver = SqliteSaver(connection)
        saver.setup()
        connection.execute("PRAGMA synchronous = FULL")
        builder = StateGraph(State)
        builder.add_node("ask", ask)
        builder.add_edge(START, "ask")
        builder.add_edge("ask", END)
        graph = builder.compile(checkpointer=saver)
        times = []
        for cycle in range(cycles):
            config = {"configurable": {"thread_id": str(cycle)}}
            begun = time.perf_counter()
            graph.invoke({"draft": "Draft market analysis report"}, config)
            answer = graph.invoke(Command(resume="approve"), config)
            times.append(time.perf_counter() - begun)
            assert answer["verdict"] == "approve"
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        times.sort()
        print(json.dumps({"ms": times[cycles // 2] * 1000, "bytes": os.path.getsize(path) / cycles}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
