import type { Command } from '../args/command.ts';
import { EXIT, reasonOf } from '../errors.ts';
import { fileError, findDirectory } from '../frames/find-directory.ts';
import { formatCount, visibleText } from '../text.ts';

/** `svc backup`: copies the frames of a directory, even while a server writes to it. */
export const backup: Command = {
  kind: 'command',
  name: 'backup',
  summary: 'Copy frames, also of a running server.',
  usage: ['<directory>', '<backup>'],
  options: {},
  notes: [
    'The directory is a storage.data_dir or a storage.parquet_path, and a server may',
    'be writing to it. The backup is a new directory; svc restore copies it back.',
    'It has every change that was acknowledged before the start. A frame that changes',
    'meanwhile is there as a whole, before or after the change. At the end, the',
    'checksums of all frames in the backup are verified.',
    '',
    'Settings, certificates and the file of callers are not part of it.',
    '',
    'Exit codes: 0 complete; 4: complete, except for what the warnings name; 1 or 2:',
    'none. After an interruption, a backup with the file backup.json is complete.',
    '',
    'Examples:',
    '  svc backup /var/lib/svc /backup/2026-11-16',
    '  svc doctor /backup/2026-11-16',
  ],
  async run({ positionals: [directory = '', destination = ''] }, { homeDir, signal, stdout, stderr }) {
    const found = await findDirectory(directory, homeDir);
    // Imported lazily: they load the engine.
    const { backUpDirectory } = await import('../frames/backups.ts');
    const { verifyDirectory } = await import('../doctor/verify-directory.ts');
    const { frames, foreign, bytes, problems } = await backUpDirectory(found, destination, { homeDir, signal });
    const verify = async (): Promise<readonly string[]> => {
      const copy = await findDirectory(destination, homeDir);
      const diagnoses = await verifyDirectory(copy, destination, signal);
      return diagnoses.flatMap(({ status, text }) => (status === 'problem' ? `In the backup: ${text}` : []));
    };
    // From here on the backup is complete: a failure is a warning.
    const damages = await verify().catch((error: unknown) => {
      signal.throwIfAborted();
      return [notVerified(error)];
    });
    const warnings = [...problems, ...damages];
    for (const warning of warnings) await stderr.write(`warning: ${visibleText(warning)}\n`);
    const others = foreign === 0 ? '' : `${formatCount(foreign, 'file')} of others, `;
    const contents = `${formatCount(frames, 'frame')}, ${others}${formatCount(bytes, 'byte')}`;
    await stdout.write(`${visibleText(destination)}: ${contents}\n`);
    return warnings.length === 0 ? EXIT.ok : EXIT.warned;
  },
};

function notVerified(error: unknown): string {
  const reason = reasonOf(fileError(error, 'The verification'));
  return `The backup is complete, but not verified. ${reason} Verify it with svc doctor.`;
}

/** `svc restore`: copies a backup to a new directory. */
export const restore: Command = {
  kind: 'command',
  name: 'restore',
  summary: 'Copy a backup to a new directory.',
  usage: ['<backup>', '<directory>'],
  options: {},
  notes: [
    'The directory becomes a storage.data_dir; it must be empty or missing: nothing',
    'is overwritten. Each file is compared with its checksum. The frames appear in',
    'one step, when all of them are on disk; if a file of the backup is damaged or',
    'missing, none of them does.',
    '',
    'Example:',
    '  svc restore /backup/2026-11-16 /var/lib/svc-restored',
  ],
  async run({ positionals: [source = '', directory = ''] }, { homeDir, signal, stdout }) {
    // Imported lazily: it loads the engine.
    const { restoreDirectory } = await import('../frames/backups.ts');
    const { frames, created } = await restoreDirectory({ backup: source, directory }, { homeDir, signal });
    const name = visibleText(directory);
    await stdout.write(`${name}: ${formatCount(frames, 'frame')} as of ${created.toISOString()}\n`);
  },
};
