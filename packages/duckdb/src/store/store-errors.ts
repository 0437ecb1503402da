import { ServiceError, toServiceError } from '@svc/errors';
import { isOutOfFiles, quoted } from '@svc/errors/internal';
import { TakenOverError } from '../disk/directory-lock.ts';

/** The frame is a foreign file or table: it cannot be changed. */
export function readOnlyFrame(handle: string): ServiceError {
  return new ServiceError(
    'permission_denied',
    `The frame ${quoted(handle)} is read-only: it was not put through this server.`,
    {
      hint: 'Use another handle, or change the file or table it comes from.',
    },
  );
}

/** The store was opened read-only. */
export function readOnlyStore(): ServiceError {
  return new ServiceError('permission_denied', 'The frames are read-only: another process holds their directory.', {
    hint: 'Stop that process, or send the change to it.',
  });
}

/** Error codes of a full disk. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** True if an operation failed because a disk is full. */
export function isFullDisk(error: unknown): boolean {
  return FULL.has(codeOf(error));
}

/** Explanations of other disk errors. No request can cause them. */
const UNWRITABLE: Readonly<Record<string, string>> = {
  EROFS: 'its file system is read-only',
  EACCES: 'the server lacks the permission',
  EPERM: 'the server lacks the permission',
  EIO: 'its disk reports an error',
  ENXIO: 'its disk is no longer available',
  ENODEV: 'its disk is no longer available',
  ESTALE: 'its network file system is no longer available',
  ENOTCONN: 'its network file system is no longer available',
  ENOTDIR: 'it is not a directory',
};

/** Explains in a sentence without a path why the frames directory cannot be written; undefined for other errors. */
export function diskFault(error: unknown): string | undefined {
  if (error instanceof TakenOverError) return 'Another process has taken over the frames directory.';
  const code = codeOf(error);
  if (FULL.has(code)) return 'The disk that stores the frames is full.';
  const reason = UNWRITABLE[code];
  return reason && `The frames directory cannot be written: ${reason}.`;
}

/** Converts a disk error to one for clients. Returns other errors unchanged. */
export function toStoreError(error: unknown): unknown {
  if (isFullDisk(error)) {
    return new ServiceError('out_of_disk', 'The frame does not fit: the disk that stores the frames is full.', {
      hint: 'Drop frames you no longer need, or give the frames directory more space.',
      cause: error,
    });
  }
  const fault = diskFault(error);
  if (fault === undefined) return error;
  return new ServiceError('unavailable', fault, {
    hint: 'Nothing was changed. Send the request again when the operator has fixed this; GET /health shows whether it persists.',
    cause: error,
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** True if a frame cannot be read because its file is damaged. */
export function isDamage(cause: unknown): cause is ServiceError {
  return cause instanceof ServiceError && cause.code === 'invalid_data';
}

/** Hints about a body or parameters: a file in the folder has neither. */
const OF_A_REQUEST = /\bbody\b|\?\w+=|^Send /;

/** The error for a frame whose file cannot be read. */
export function unreadableFrame(handle: string, isForeign: boolean, cause: unknown): ServiceError {
  if (!isDamage(cause)) {
    // A full disk prevents a copy; any other disk error here comes from a read, not from a write.
    const failure = FULL.has(codeOf(cause)) ? toStoreError(cause) : cause;
    return failure instanceof ServiceError || isOutOfFiles(failure)
      ? toServiceError(failure)
      : notReadNow(handle, cause);
  }
  return isForeign
    ? new ServiceError('invalid_data', `The frame ${quoted(handle)} cannot be read. ${cause.message}`, {
        hint: /is not UTF-8/.test(cause.message)
          ? 'Save the file it comes from as UTF-8, or as UTF-16 with a byte order mark, or put it as a frame with ?encoding=.'
          : OF_A_REQUEST.test(cause.hint)
            ? 'Replace the file it comes from with an intact one.'
            : cause.hint,
        cause,
      })
    : lostFrame(handle, 'damaged', cause);
}

/** The error for a stored frame without its file. */
export function missingFile(handle: string, cause: unknown): ServiceError {
  return lostFrame(handle, 'missing', cause);
}

function lostFrame(handle: string, state: 'damaged' | 'missing', cause: unknown): ServiceError {
  return new ServiceError('internal', `The frame ${quoted(handle)} cannot be read: its file is ${state}.`, {
    hint: 'Put the frame again, or ask the operator to restore its file.',
    cause,
  });
}

/** The error for a failed read of a file, if it is not known to be damaged. */
function notReadNow(handle: string, cause: unknown): ServiceError {
  return new ServiceError('internal', `The frame ${quoted(handle)} could not be read.`, {
    hint: 'Send the request again; if it fails again, report it with the request id.',
    cause,
  });
}

/** The error for a JSON file without an array of rows. */
export function notATable(handle: string): ServiceError {
  return new ServiceError(
    'invalid_data',
    `${quoted(`${handle}.json`)} is not a table: it is not an array of objects.`,
    {
      hint: 'If it has one object per line, name it .ndjson; if it is not data, move it out of the folder of the frames.',
    },
  );
}

/** The error for a frame that the holder of the directory has dropped and put again. */
export function changedFrame(handle: string): ServiceError {
  return new ServiceError('unavailable', `The frame ${quoted(handle)} has changed while it was being read.`, {
    hint: 'Send the request again.',
  });
}

/** The error for a foreign file replaced or written to while it was being read. */
export function changedFile(handle: string): ServiceError {
  return new ServiceError(
    'unavailable',
    `The file of the frame ${quoted(handle)} has changed while it was being read.`,
    {
      hint: 'Send the request again when the file is complete.',
    },
  );
}
