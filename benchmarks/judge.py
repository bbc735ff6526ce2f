"""A language model behind a server as a metric: texts per second, against a bare loop of 32 threads.

The server is on loopback, in a process of its own, and takes 50 ms for a request.
"""

import http.client
import multiprocessing
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from harness import Bench

# isort: split
import json

from chat_server import ChatServer

from bmx_grid.guests.judge.judge import Judge
from bmx_grid.words.perturbation import Item

AT_ONCE, DELAY = 32, 0.05


def serve(address: "multiprocessing.Queue[str]") -> None:
    """A server of the tests, until this process is ended."""
    with ChatServer(lambda body, turn: "3", delay=DELAY).running() as server:
        address.put(server.url)
        threading.Event().wait()


def bare(url: str, bodies: list[bytes]) -> list[str]:
    """The answers, by connections that stay open, one of each thread."""
    local, address = threading.local(), urlsplit(url)

    def post(body: bytes) -> str:
        if not hasattr(local, "connection"):
            local.connection = http.client.HTTPConnection(address.netloc)
        local.connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        reply = json.loads(local.connection.getresponse().read())
        return str(reply["choices"][0]["message"]["content"])

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(post, bodies))


if __name__ == "__main__":
    bench = Bench(__doc__, rounds=5, texts={"type": int, "default": 1600})
    queue: "multiprocessing.Queue[str]" = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(queue,), daemon=True)
    server.start()
    url = queue.get(timeout=60)
    items = [Item(reference=f"a house {n}", hypothesis=f"one house {n}") for n in range(bench.options.texts)]
    judge = Judge(model="m", prompt="plain", base_url=url, concurrency=AT_ONCE)
    bodies = [json.dumps(judge._body(judge.template.messages(item, "none"))).encode() for item in items]
    ways = {"judge": lambda: judge.score(items)}
    bench.compare("texts", {**ways, "bare threads": lambda: bare(url, bodies)}, floor=0.9, clock=time.perf_counter)
    server.kill()
    sys.exit(bench.finish())
