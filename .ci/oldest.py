"""Print the oldest versions that pyproject.toml admits, as constraints for pip: `name==bound` for `name>=bound`.

With names of extras as arguments, of those as well as of the package itself.
"""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
wanted, lines, names = [*project["dependencies"]], set(), list(sys.argv[1:])
while names:
    for requirement in extras[names.pop()]:
        if own := re.fullmatch(r"headgate\[(.*)\]", requirement):
            names += own[1].split(",")
        else:
            wanted.append(requirement)
for requirement in wanted:
    name, bound = re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", requirement).groups()
    lines.add(f"{name}=={bound}")
print("\n".join(sorted(lines)))
