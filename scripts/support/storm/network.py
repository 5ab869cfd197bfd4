"""Hosts that are network namespaces, each wired to one router, which can drop packets between two of them."""

import ctypes
import os
import subprocess

from storm.namespaces import CLONE_NEWNET

_libc = ctypes.CDLL(None, use_errno=True)


def _ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, stdout=subprocess.DEVNULL)


class Network:
    """This process's namespace is the router. It drops packets silently, as a broken wire does."""

    def __init__(self):
        self._addresses = {}
        self._cut = set()
        _ip("link", "set", "lo", "up")
        with open("/proc/sys/net/ipv4/ip_forward", "w") as file:
            file.write("1")

    def add(self, host):
        """Adds a host unless it exists; returns its address."""
        if host in self._addresses:
            return self._addresses[host]
        number = len(self._addresses) + 1
        router, address = f"10.77.{number}.1", f"10.77.{number}.2"
        _ip("netns", "add", host)
        _ip("link", "add", f"wire{number}", "type", "veth", "peer", "name", "eth0", "netns", host)
        _ip("addr", "add", f"{router}/30", "dev", f"wire{number}")
        _ip("link", "set", f"wire{number}", "up")
        _ip("-n", host, "link", "set", "lo", "up")
        _ip("-n", host, "addr", "add", f"{address}/30", "dev", "eth0")
        _ip("-n", host, "link", "set", "eth0", "up")
        _ip("-n", host, "route", "add", "default", "via", router)
        self._addresses[host] = address
        return address

    def inside(self, host):
        """The command prefix that runs a command on a host."""
        return ["nsenter", f"--net=/run/netns/{host}"]

    def enter(self, host):
        """Moves the calling thread to a host."""
        with open(f"/run/netns/{host}") as file:
            if _libc.setns(file.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f"{host} cannot be entered: {os.strerror(ctypes.get_errno())}")

    def cut(self, one, other, ways):
        """Drops packets from `one` to `other` (`out`), from `other` to `one` (`in`), or `both`."""
        for way in self._ways(one, other, ways) - self._cut:
            self._rule("add", way)
            self._cut.add(way)

    def heal(self, one, other, ways="both"):
        for way in self._ways(one, other, ways) & self._cut:
            self._rule("del", way)
            self._cut.discard(way)

    def heal_all(self):
        for way in list(self._cut):
            self._rule("del", way)
            self._cut.discard(way)

    @staticmethod
    def _ways(one, other, ways):
        return {"out": {(one, other)}, "in": {(other, one)}, "both": {(one, other), (other, one)}}[ways]

    def _rule(self, verb, way):
        source, target = (self._addresses[host] for host in way)
        _ip("rule", verb, "priority", "100", "from", source, "to", target, "blackhole")
