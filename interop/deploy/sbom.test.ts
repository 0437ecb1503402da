// The SBOMs of the programs, validated by the library of CycloneDX with its own schema.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { providePython } from '../../tools/python-environment.js';

const programs = providePython('interop-deploy', fileURLToPath(new URL('requirements.txt', import.meta.url)));

const VALIDATE = `
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
print(error or "valid")
`;

test.each(['server', 'cli'])('the SBOM of %s is valid CycloneDX 1.6', (app) => {
  const file = fileURLToPath(new URL(`../../apps/${app}/bundle/sbom.cdx.json`, import.meta.url));
  const { stdout, stderr } = spawnSync(join(programs, 'python'), ['-c', VALIDATE, file], { encoding: 'utf8' });
  expect({ stdout, stderr }).toEqual({ stdout: 'valid\n', stderr: '' });
});
