// Writes src/generated from the .proto files: codecs and service definitions as TypeScript, and the file descriptors
// that reflection hands out. With --check it writes nothing and fails where the files there are not up to date.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import { writeDescriptors } from './write-descriptors.js';
import { writeModule } from './write-module.js';

const ROOT = new URL('../', import.meta.url);
const OUT = new URL('src/generated/', ROOT);
const FILES = [
  'google/protobuf/timestamp.proto',
  'grpc/health/v1/health.proto',
  'grpc/reflection/v1/reflection.proto',
  'grpc/reflection/v1alpha/reflection.proto',
  'svc/frames/v1/frames.proto',
];

const root = new protobuf.Root();
const files = FILES.map((name) => loadFile(name));
root.resolveAll();

const output = new Map(files.map((file) => [`${file.module}.ts`, writeModule(file)]));
output.set('file-descriptors.ts', writeDescriptors(files));

if (process.argv.includes('--check')) {
  const stale = [...output].filter(([name, text]) => !isUpToDate(name, text)).map(([name]) => name);
  const extra = readdirSync(OUT).filter((name) => !output.has(name));
  if (stale.length + extra.length > 0) {
    process.stderr.write(
      `Not up to date with the .proto files: ${[...stale, ...extra].join(', ')}. Run the script "generate".\n`,
    );
    process.exitCode = 1;
  }
} else {
  for (const [name, text] of output) writeFileSync(new URL(name, OUT), text);
}

function isUpToDate(name, text) {
  const file = new URL(name, OUT);
  return existsSync(file) && readFileSync(file, 'utf8') === text;
}

/** One .proto file: what it declares lies in `namespace`, the part of the common root that is its package. */
function loadFile(name) {
  const wellKnown = protobuf.common.get(name);
  let packageName;
  let imports = [];
  if (wellKnown) {
    root.addJSON(wellKnown.nested);
    packageName = 'google.protobuf';
  } else {
    const source = readFileSync(fileURLToPath(new URL(name, ROOT)), 'utf8');
    const parsed = protobuf.parse(source, root, { keepCase: true, alternateCommentMode: true });
    packageName = parsed.package;
    imports = parsed.imports ?? [];
  }
  const module = packageName.replaceAll('.', '-');
  return { name, imports, packageName, module, namespace: root.lookup(packageName) };
}
