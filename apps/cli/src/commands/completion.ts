import { CliError } from '../errors/cli-error.ts';
import type { Command } from '../args/command.ts';
import { COMPLETION_SCRIPTS } from './completion-scripts.ts';

const SHELLS = [...COMPLETION_SCRIPTS.keys()];

/** `svc completion`: prints shell completion scripts. */
export const completion: Command = {
  kind: 'command',
  name: 'completion',
  summary: 'Print a script that completes svc in a shell.',
  usage: [`<${SHELLS.join('|')}>`],
  options: {},
  notes: [
    'Completes commands, flags, files, and handles of the server of --url or SVC_URL.',
    'Run this for the current shell, or put it in the start-up file of the shell:',
    '',
    '  bash  eval "$(svc completion bash)"',
    '  zsh   eval "$(svc completion zsh)"        (after compinit)',
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
