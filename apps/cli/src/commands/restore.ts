import type { Command } from '../args/command.ts';
import { formatCount, visibleText } from '../text/display-text.ts';

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
  async run({ positionals: [backup = '', directory = ''] }, { homeDir, signal, stdout }) {
    // Imported lazily: it loads the engine.
    const { restoreDirectory } = await import('../frames/backups.ts');
    const { frames, created } = await restoreDirectory({ backup, directory }, { homeDir, signal });
    const name = visibleText(directory);
    await stdout.write(`${name}: ${formatCount(frames, 'frame')} as of ${created.toISOString()}\n`);
  },
};
