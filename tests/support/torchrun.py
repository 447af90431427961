#!/usr/bin/env python3
"""The launcher of PyTorch as far as ports go: the options of torchrun 2.7, a store that listens on all addresses, the
script with the environment that workers get, and PyTorch's own words when it cannot listen.

What it does not have: several nodes, several workers, elasticity.
"""

import argparse
import os
import runpy
import socket
import sys
import time


def options():
    parser = argparse.ArgumentParser(prog="torchrun")

    def option(name, **kwargs):
        names = ["--" + name] + (["--" + name.replace("-", "_")] if "-" in name else [])
        if kwargs.get("action") is None:
            default = os.environ.get("PET_" + name.upper().replace("-", "_"), kwargs.pop("default", None))
            kwargs["default"] = default
        parser.add_argument(*names, **kwargs)

    for name, default in [
        ("nnodes", "1:1"),
        ("nproc-per-node", "1"),
        ("rdzv-backend", "static"),
        ("rdzv-endpoint", ""),
        ("rdzv-id", "none"),
        ("node-rank", "0"),
        ("master-addr", "127.0.0.1"),
        ("max-restarts", "0"),
    ]:
        option(name, default=default)
    option("master-port", default="29500", type=int)
    option("standalone", action="store_true")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser.parse_args()


def listen(port):
    """Listens as PyTorch does: on all addresses, asking to reuse them."""
    store = socket.socket(socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET, socket.SOCK_STREAM)
    store.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if store.family == socket.AF_INET6:
        store.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    store.bind(("", port))
    store.listen(16)
    return store


class DistNetworkError(RuntimeError):
    __module__ = "torch.distributed"


def next_rendezvous(port):
    try:
        return listen(port)
    except OSError as error:
        raise DistNetworkError(
            "The server socket has failed to listen on any local network address. "
            f"port: {port}, useIpv6: false, code: -{error.errno}, name: EADDRINUSE, message: address already in use"
        ) from None


def main():
    args = options()
    if args.standalone:
        args.rdzv_backend, args.rdzv_endpoint = "c10d", "localhost:0"
    host, _, port = args.rdzv_endpoint.rpartition(":")
    if args.rdzv_backend == "c10d":
        try:
            store = listen(int(port) if port else 29400)
        except OSError:
            # It believes the other to be the host of the store and waits to be let in.
            time.sleep(3600)
            raise SystemExit(1)
    else:
        port = int(port) if args.rdzv_endpoint else args.master_port
        if port == 0:
            time.sleep(3600)
        # The traceback names the file, as PyTorch's does.
        source = compile("store = next_rendezvous(port)", "/torch/rendezvous/static_tcp_rendezvous.py", "exec")
        names = {"next_rendezvous": next_rendezvous, "port": port}
        exec(source, names)
        store = names["store"]
    os.environ.update(MASTER_ADDR=args.master_addr, MASTER_PORT=str(store.getsockname()[1]), RANK="0", WORLD_SIZE="1")
    sys.argv = [args.training_script, *args.training_script_args]
    runpy.run_path(args.training_script, run_name="__main__")


main()
