"""A hold in DBOS: a workflow waits for a message, and ends when it has come.

Takes the address of a database, how many cycles one client makes, and how many clients there are at once. Prints
one JSON object: milliseconds per cycle (median) of one client, and cycles per second of all.
"""

import json
import logging
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from dbos import DBOS


@DBOS.workflow()
def hold(draft: str) -> str:
    return DBOS.recv("verdict", timeout_seconds=60)


def cycle(draft: str) -> float:
    begun = time.perf_counter()
    handle = DBOS.start_workflow(hold, draft)
    DBOS.send(handle.get_workflow_id(), "approve", "verdict")
    assert handle.get_result() == "approve"
    return time.perf_counter() - begun


def main(address: str, cycles: int, clients: int) -> None:
    logging.disable(logging.CRITICAL)
    pool = {"pool_size": clients, "max_overflow": 0, "pool_timeout": 60}
    DBOS(
        config={
            "name": "peer",
            "system_database_url": address,
            "run_admin_server": False,
            "sys_db_pool_size": clients,
            "db_engine_kwargs": pool,
        }
    )
    DBOS.launch()
    try:
        times = sorted(cycle("Draft market analysis report") for _ in range(cycles))
        each = max(cycles // 10, 3)
        begun = time.perf_counter()
        with ThreadPoolExecutor(clients) as many:
            done = len(list(many.map(cycle, ["Draft market analysis report"] * clients * each)))
        took = time.perf_counter() - begun
    finally:
        DBOS.destroy()
    print(json.dumps({"ms": times[cycles // 2] * 1000, "per_second": done / took}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
