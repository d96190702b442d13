"""Checks bills of materials: check.py FOLDER. CycloneDX by its JSON schema, SPDX by the rules of the specification."""
import glob
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

folder = sys.argv[1]
files = 0
failed = False
for name in sorted(glob.glob(folder + "/*.cdx.json")):
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(name).read())
    files, failed = files + 1, failed or error is not None
    print(name, error or "is valid CycloneDX 1.6")
for name in sorted(glob.glob(folder + "/*.spdx.json")):
    errors = validate_full_spdx_document(parse_file(name))
    files, failed = files + 1, failed or bool(errors)
    print(name, "; ".join(e.validation_message for e in errors[:5]) or "is valid SPDX 2.3")
if files == 0:
    print("no bill of materials in", folder, "- run make packages first")
sys.exit(failed or files == 0)
