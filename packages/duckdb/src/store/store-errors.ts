import { quoted, ServiceError } from '@svc/errors';
import { TakenOverError } from '../disk/directory-lock.ts';

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

/** Failures for want of space. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Other failures of a directory that nothing in a request can cause, and what to say of them. */
const UNWRITABLE: Readonly<Record<string, string>> = {
  EROFS: 'its file system is read-only',
  EACCES: 'the server lacks the permission',
  EPERM: 'the server lacks the permission',
  EIO: 'its disk reports an error',
  ENXIO: 'its disk is gone',
  ENODEV: 'its disk is gone',
  ESTALE: 'its network file system is gone',
  ENOTCONN: 'its network file system is gone',
  ENOTDIR: 'there is something else in its place',
};

/** Why the directory of the frames cannot be written, in a sentence without a path; undefined for another failure. */
export function diskFault(error: unknown): string | undefined {
  if (error instanceof TakenOverError) return 'Another process has taken over the directory of the frames.';
  const code = codeOf(error);
  if (FULL.has(code)) return 'There is no space left on the disk that keeps the frames.';
  const reason = UNWRITABLE[code];
  return reason && `The directory of the frames cannot be written: ${reason}.`;
}

/** A failure of the disk as clients see it; everything else stays what it is. */
export function toStoreError(error: unknown): unknown {
  if (FULL.has(codeOf(error))) {
    return new ServiceError(
      'out_of_disk',
      'The frame does not fit: there is no space left on the disk that keeps the frames.',
      {
        hint: 'Drop frames that are no longer needed, or give the directory of the frames more space.',
        cause: error,
      },
    );
  }
  const fault = diskFault(error);
  if (fault === undefined) return error;
  return new ServiceError('unavailable', fault, {
    hint: 'Nothing was changed. Send the request again when the operator of the server has repaired this; GET /health shows whether it lasts.',
    cause: error,
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Whether the file of a frame is why it cannot be read. */
export function isDamage(cause: unknown): cause is ServiceError {
  return cause instanceof ServiceError && cause.code === 'invalid_data';
}

/** The file of a frame cannot be read. */
export function unreadableFrame(handle: string, isForeign: boolean, cause: unknown): ServiceError {
  if (!isDamage(cause)) {
    // A full disk keeps a copy from being made; every other failure of the disk is one to read, not to write.
    const failure = FULL.has(codeOf(cause)) ? toStoreError(cause) : cause;
    return failure instanceof ServiceError ? failure : notReadNow(handle, cause);
  }
  return isForeign
    ? new ServiceError('invalid_data', `The frame ${quoted(handle)} cannot be read. ${cause.message}`, {
        hint: 'Replace the file it comes from by one that is whole.',
        cause,
      })
    : lostFrame(handle, 'damaged', cause);
}

/** The file of a frame that was put is not there. */
export function missingFile(handle: string, cause: unknown): ServiceError {
  return lostFrame(handle, 'missing', cause);
}

function lostFrame(handle: string, state: 'damaged' | 'missing', cause: unknown): ServiceError {
  return new ServiceError('internal', `The frame ${quoted(handle)} cannot be read: its file is ${state}.`, {
    hint: 'Put the frame again, or ask the operator to restore its file.',
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
