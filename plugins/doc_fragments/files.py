"""The list of files that two modules take."""

from __future__ import annotations


class ModuleDocFragment:
    """As module_utils/managed_file.py has it (OPTIONS)."""

    DOCUMENTATION = r"""
options:
  files:
    description: The entries, in the order in which they are made.
    type: list
    elements: dict
    required: true
    suboptions:
      path: {description: Absolute path., type: path, required: true}
      state:
        description: What has to be there.
        choices: [file, directory, link, absent]
        default: file
        type: str
      content: {description: Text of a file., type: str, default: ""}
      block:
        description: Name of a part of a file that belongs to others; O(files[].content) is that part only.
        type: str
      target: {description: Where a link leads., type: str}
      owner: {description: Owner; empty leaves it to whoever runs this., type: str, default: root}
      group: {description: Group; empty likewise., type: str, default: root}
      mode: {description: Mode in octal digits., type: str, default: "0644"}
      secret: {description: Leave the content out of the diff., type: bool, default: false}
      content_if:
        description: Where a folder whose owner or group changes holds this name, what is theirs in it goes with it.
        type: str
        default: ""
"""
