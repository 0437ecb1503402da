// Writes src/generated from the .proto files: codecs and service definitions as TypeScript, and the file descriptors
// for reflection. With --check it writes nothing, and fails if the files are not up to date.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import { writeDescriptors } from './write-descriptors.js';
import { writeModule } from './write-module.js';

const ROOT = new URL('../', import.meta.url);
const OUT = new URL('src/generated/', ROOT);
/** The files that the server serves: they are offered by reflection. */
const SERVED_FILES = [
  'google/protobuf/timestamp.proto',
  'google/protobuf/any.proto',
  'arrow/flight/protocol/flight.proto',
  'arrow/flight/protocol/sql/flight_sql.proto',
  'grpc/health/v1/health.proto',
  'grpc/reflection/v1/reflection.proto',
  'grpc/reflection/v1alpha/reflection.proto',
  'svc/frames/v1/frames.proto',
];
/** The files that only clients need. */
const CLIENT_FILES = ['google/rpc/status.proto', 'spark/connect/base.proto'];

const root = new protobuf.Root();
const served = SERVED_FILES.map((name) => loadFile(name));
const files = [...served, ...CLIENT_FILES.map((name) => loadFile(name))];
root.resolveAll();

const output = new Map(files.map((file) => [`${file.module}.ts`, writeModule(file, files)]));
output.set('file-descriptors.ts', writeDescriptors(served));

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

/** One .proto file: its `declared` messages, enums and services. */
function loadFile(name) {
  const wellKnown = protobuf.common.get(name);
  if (wellKnown) {
    root.addJSON(wellKnown.nested);
    const packageName = 'google.protobuf';
    const names = Object.keys(wellKnown.nested.google.nested.protobuf.nested);
    const declared = names.map((type) => root.lookup(`${packageName}.${type}`));
    return { name, imports: [], packageName, module: name.replace('.proto', '').replaceAll('/', '-'), declared };
  }
  const source = readFileSync(fileURLToPath(new URL(name, ROOT)), 'utf8');
  const parsed = protobuf.parse(source, root, { keepCase: true, alternateCommentMode: true });
  const packageName = parsed.package;
  const declared = root.lookup(packageName).nestedArray.filter((item) => item.constructor !== protobuf.Namespace);
  return { name, imports: parsed.imports ?? [], packageName, module: packageName.replaceAll('.', '-'), declared };
}
