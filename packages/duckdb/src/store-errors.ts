import { quoted, ServiceError } from '@svc/errors';
import { hasCode } from './durable-files.ts';

/** The frame is a file or table that was not put, and so cannot be changed. */
export function readOnlyFrame(handle: string): ServiceError {
  return new ServiceError(
    'permission_denied',
    `The frame ${quoted(handle)} is read-only: it was not put through this server.`,
    {
      hint: 'Use another handle, or change the file or table it comes from.',
    },
  );
}

/** The store was opened for reading alone. */
export function readOnlyStore(): ServiceError {
  return new ServiceError('permission_denied', 'The frames can only be read: another process holds their directory.', {
    hint: 'Stop that process, or send the change to it.',
  });
}

/** A failure of the disk as clients see it: a full one is `out_of_disk`, everything else stays what it is. */
export function toStoreError(error: unknown): unknown {
  if (!hasCode(error, 'ENOSPC', 'EDQUOT', 'EFBIG')) return error;
  return new ServiceError(
    'out_of_disk',
    'The frame does not fit: there is no space left on the disk that keeps the frames.',
    {
      hint: 'Drop frames that are no longer needed, or give the directory of the frames more space.',
      cause: error,
    },
  );
}

/** Whether the file of a frame is why it cannot be read. */
export function isDamage(cause: unknown): cause is ServiceError {
  return cause instanceof ServiceError && cause.code === 'invalid_data';
}

/** The file of a frame cannot be read. */
export function unreadableFrame(handle: string, isForeign: boolean, cause: unknown): ServiceError {
  if (!isDamage(cause)) {
    const failure = toStoreError(cause);
    return failure instanceof ServiceError ? failure : notReadNow(handle, cause);
  }
  return isForeign
    ? new ServiceError('invalid_data', `The frame ${quoted(handle)} cannot be read. ${cause.message}`, {
        hint: 'Replace the file it comes from by one that is whole.',
        cause,
      })
    : new ServiceError('internal', `The frame ${quoted(handle)} cannot be read: its file is damaged.`, {
        hint: 'Put the frame again, or have whoever runs the server restore its file.',
        cause,
      });
}

/** A frame could not be read, and nothing is known to be wrong with its file. */
function notReadNow(handle: string, cause: unknown): ServiceError {
  return new ServiceError('internal', `The frame ${quoted(handle)} could not be read.`, {
    hint: 'Send the request again; if it fails again, report it with the request id.',
    cause,
  });
}
