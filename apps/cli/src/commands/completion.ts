import { CliError } from '../errors/cli-error.ts';
import type { Command } from '../args/command.ts';
import { COMPLETION_SCRIPTS } from './completion-scripts.ts';

const SHELLS = [...COMPLETION_SCRIPTS.keys()];

/** `svc completion`: makes Tab work behind `svc`. */
export const completion: Command = {
  kind: 'command',
  name: 'completion',
  summary: 'Print a script that completes svc in a shell.',
  usage: [`<${SHELLS.join('|')}>`],
  options: {},
  notes: [
    'Completes commands, flags, files, and handles, for which it asks the server of',
    '--url or SVC_URL. For this shell, and in its start-up file for every one:',
    '',
    '  bash  eval "$(svc completion bash)"',
    '  zsh   eval "$(svc completion zsh)"        (behind compinit)',
    '  fish  svc completion fish | source',
  ],
  async run(args, { stdout }) {
    const [shell = ''] = args.positionals;
    const script = COMPLETION_SCRIPTS.get(shell);
    if (script === undefined) {
      throw new CliError('usage', `There is no completion for the shell ${JSON.stringify(shell)}.`, {
        hint: `Write svc completion ${SHELLS.join(', svc completion ')}.`,
      });
    }
    await stdout.write(script);
  },
};
