"""One bulk load on a Spark cluster, in a process of its own: `load_on_cluster.py MASTER SPEC.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from common.errors import KastellanError
from validate import session
from validate.run import shared
from validate.workload import bulk


def main(master: str, file: str) -> int:
    spark = session.start(master=master, sends=True)
    try:
        spec = json.loads(Path(file).read_text(encoding="utf-8"))
        shared.require(spark, Path(spec["ledger"]), master)
        print(json.dumps(bulk.load(spark, spec)), flush=True)
    except KastellanError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
