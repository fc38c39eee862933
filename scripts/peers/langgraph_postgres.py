"""A hold in LangGraph on its PostgreSQL saver: interrupt, then resume with an answer.

Takes the address of a database, how many cycles one client makes, and how many clients there are at once. Prints
one JSON object: milliseconds per cycle (median) of one client, and cycles per second of all.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TypedDict

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool


class State(TypedDict):
    draft: str
    verdict: str


def ask(state: State) -> dict:
    return {"verdict": interrupt(state["draft"])}


def main(address: str, cycles: int, clients: int) -> None:
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    with ConnectionPool(address, min_size=1, max_size=clients, kwargs=options) as pool:
        saver = PostgresSaver(pool)
        saver.setup()
        builder = StateGraph(State)
        builder.add_node("ask", ask)
        builder.add_edge(START, "ask")
        builder.add_edge("ask", END)
        graph = builder.compile(checkpointer=saver)

        def cycle(name: str) -> float:
            config = {"configurable": {"thread_id": name}}
            begun = time.perf_counter()
            graph.invoke({"draft": "Draft market analysis report"}, config)
            answer = graph.invoke(Command(resume="approve"), config)
            assert answer["verdict"] == "approve"
            return time.perf_counter() - begun

        times = sorted(cycle(f"one-{number}") for number in range(cycles))
        each = max(cycles // 10, 3)
        begun = time.perf_counter()
        with ThreadPoolExecutor(clients) as many:
            names = [f"many-{number}" for number in range(clients * each)]
            done = len(list(many.map(cycle, names)))
        took = time.perf_counter() - begun
        print(json.dumps({"ms": times[cycles // 2] * 1000, "per_second": done / took}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
