/**
 * The objects of an S3 bucket. It is an entry point of its own, so that a directory needs no HTTP client.
 *
 * ```ts
 * import { checkCreates, createS3Objects } from '@svc/objects/s3';
 *
 * const objects = createS3Objects({
 *   endpoint: 'http://127.0.0.1:9000',
 *   bucket: 'frames',
 *   credentials: async () => ({ accessKeyId: 'frames', secretAccessKey: 'secret' }),
 * });
 * await checkCreates(objects); // fails if the bucket lets a name be created twice
 * ```
 */
export { checkCreates } from './check-creates.ts';
export { createS3Objects, type S3Credentials, type S3Objects, type S3Options } from './s3-objects.ts';
