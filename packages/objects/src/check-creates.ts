import { randomBytes } from 'node:crypto';
import { ServiceError } from '@svc/errors';
import type { Objects } from './objects.ts';

/** Fails if a home lets a name be created twice: servers that share it would lose frames. */
export async function checkCreates(objects: Objects, signal?: AbortSignal): Promise<void> {
  const key = `.probe/${randomBytes(12).toString('hex')}`;
  const first = await objects.create(key, Buffer.from('first'), signal);
  const second = await objects.create(key, Buffer.from('second'), signal);
  await objects.remove([key], signal);
  if (first && !second) return;
  throw new ServiceError('internal', 'The bucket does not keep the condition If-None-Match of a PUT.', {
    hint: 'Use a bucket that does, such as AWS S3, MinIO or Ceph: servers that share this one would lose frames.',
  });
}
