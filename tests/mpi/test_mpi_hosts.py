#!/usr/bin/python3
"""A training over several hosts: network namespaces of one machine, with addresses and names of
their own and a slow link between them, a process each.

usage: test_mpi_hosts.py COKE HOSTS     exit code 77: no privilege to make namespaces
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

COKE, MPIEXEC, HOSTS = sys.argv[1], os.environ["MPIEXEC"], int(sys.argv[2])
NET = "10.213.77."
TRAIN = ["train", "synthetic:n=34,size=16", "--arch", "resnet18", "--stem", "cifar", "--width",
         "0.0625", "--dim", "16", "--recipe", "single", "--no-predictor", "--beta", "0", "--size",
         "16", "--batch", "16", "-k", "5", "--epochs", "3", "--warmup", "1", "--optimizer", "sgd",
         "--rate", "0.05", "--monitor", "0", "--threads", "1"]
# Open MPI starts its daemons through this instead of ssh: HOST COMMAND...
AGENT = """#!/bin/sh
host=$1
shift
exec ip netns exec coke-${host##*.} unshare -u sh -c "hostname coke-${host##*.}; $*"
"""


def sh(words):
    done = subprocess.run(words, shell=True, capture_output=True, text=True)
    return done.returncode == 0


def make_hosts():
    """A bridge in a namespace of its own, and behind it hosts with 100 Mbit/s, where the kernel can also 1 ms away."""
    ok = sh("ip netns add coke-hub && ip -n coke-hub link add br0 type bridge && "
            "ip -n coke-hub addr add %s254/24 dev br0 && ip -n coke-hub link set br0 up && "
            "ip -n coke-hub link set lo up" % NET)
    for i in range(1, HOSTS + 1):
        ok = ok and sh("ip netns add coke-{0} && ip -n coke-hub link add v{0} type veth peer name "
                       "eth0 netns coke-{0} && ip -n coke-hub link set v{0} master br0 up && "
                       "ip -n coke-{0} addr add {1}{0}/24 dev eth0 && ip -n coke-{0} link set eth0 up "
                       "&& ip -n coke-{0} link set lo up".format(i, NET))
        tc = "ip netns exec coke-%d tc qdisc add dev eth0 root " % i
        ok = ok and (sh(tc + "netem delay 1ms rate 100mbit") or
                     sh(tc + "tbf rate 100mbit burst 32kbit latency 400ms"))
    return ok


def remove_hosts():
    for name in ["hub"] + list(range(1, HOSTS + 1)):
        sh("ip netns del coke-%s" % name)


def train(tmp):
    agent = tmp + "/agent"
    with open(agent, "w") as f:
        f.write(AGENT)
    os.chmod(agent, 0o755)
    hosts = ",".join("%s%d:1" % (NET, i) for i in range(1, HOSTS + 1))
    command = ["ip", "netns", "exec", "coke-hub", MPIEXEC, "--mca", "plm_rsh_agent", agent, "--mca",
               "oob_tcp_if_include", NET + "0/24", "--mca", "btl_tcp_if_include", NET + "0/24",
               "--mca", "btl", "tcp,self", "--mca", "pml", "ob1", "-x", "COKE_MPI", "-x",
               "OMP_WAIT_POLICY", "-H", hosts, "-n", str(HOSTS), COKE] + TRAIN + ["-o", tmp + "/run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "%d processes" % HOSTS in done.stderr, done.stderr
    assert "waiting for processes" in done.stderr, done.stderr
    with open(tmp + "/run/timing.jsonl") as f:
        for line in map(json.loads, f):
            print("%d hosts, epoch %d: %.0f %% of %.1f s waiting for others" %
                  (HOSTS, line["epoch"], 100 * line["communicated"] / line["seconds"],
                   line["seconds"]))


if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
    print("namespaces need root, ip and tc: skipped")
    sys.exit(77)
try:
    if not make_hosts():
        print("this machine does not let us make network namespaces: skipped")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        train(folder)
finally:
    remove_hosts()
