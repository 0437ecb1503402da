import { link, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

const LOG = '_delta_log';
const FIRST = '00000000000000000000.json';

/** Gives a frame in the folder of a tenant that no server uses a second handle, in much less time than a put. */
export async function copyFrame(folder: string, from: string, to: string): Promise<void> {
  await mkdir(join(folder, to, LOG), { recursive: true });
  for (const name of await readdir(join(folder, from))) {
    if (name !== LOG) await link(join(folder, from, name), join(folder, to, name));
  }
  const [line = ''] = (await readFile(join(folder, from, LOG, FIRST), 'utf8')).split('\n');
  const { commitInfo } = JSON.parse(line) as { commitInfo: { svc: object } };
  const svc = { ...commitInfo.svc, handle: to };
  const svcCrc32 = crc32(JSON.stringify(svc)).toString(16).padStart(8, '0');
  await writeFile(
    join(folder, to, LOG, FIRST),
    `${JSON.stringify({ commitInfo: { ...commitInfo, svc, svcCrc32 } })}\n`,
  );
}
