"""peer_python.py - what the benchmarks of the Python package share: an interpreter with the peers
from PyPI beside the package of this tree, and results of worker processes."""
import json
import os
import resource
import signal
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEERS = ("k-means-constrained==0.9.0", "scikit-learn")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "COKE_THREADS")


def add_arguments(parser):
    parser.add_argument("--venv", default=os.path.join(TOP, "build", "bench-python"),
                        help="virtual environment with the peer, made where it is missing")
    parser.add_argument("--coke", default=os.path.join(TOP, "build", "coke"), metavar="PROGRAM")


def prepare(args):
    """The interpreter with the peer; sets the environment of its processes."""
    library = os.path.join(os.path.dirname(os.path.abspath(args.coke)), "libcoke.so")
    os.environ.update(COKE_LIBRARY=library, PYTHONPATH=os.path.join(TOP, "python"))
    python = os.path.join(args.venv, "bin", "python")
    check = [python, "-c", "import k_means_constrained, sklearn"]
    if not os.path.exists(python) or subprocess.call(check, stderr=subprocess.DEVNULL):
        subprocess.check_call(["/usr/bin/python3", "-m", "venv", args.venv])
        subprocess.check_call([python, "-m", "pip", "install", "-q", *PEERS])
    return python


def worker(python, script, arguments, limit, threads=None, cpu=False):
    """What `script --worker arguments...` prints as JSON, or None after `limit` seconds; cpu: those
    of one process's computing, so that other work on the machine does not count."""
    def limit_cpu():
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
    command = [python, "-W", "ignore", os.path.abspath(script), "--worker"]
    environment = dict(os.environ, **({name: str(threads) for name in THREADS} if threads else {}))
    process = subprocess.Popen(command + [str(a) for a in arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment,
                               start_new_session=True, preexec_fn=limit_cpu if cpu else None)
    try:
        out, errors = process.communicate(timeout=None if cpu else limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the processes that it started, too
        process.wait()
        return None
    if cpu and process.returncode == -signal.SIGXCPU:
        return None
    if process.returncode:
        sys.exit(errors)
    return json.loads(out)


def cpu_name():
    with open("/proc/cpuinfo") as f:
        return next((line.split(":")[1].strip() for line in f if line.startswith("model name")),
                    "unknown CPU")
