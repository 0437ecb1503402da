import type { Command } from '../args/command.ts';
import { CliError } from '../errors.ts';

const BASH = `# Completion of svc for bash: eval "$(svc completion bash)"
_svc() {
  local kind= line words
  # Not COMP_WORDS: it splits a URL at its colons.
  read -r -a words <<<"\${COMP_LINE:0:COMP_POINT}"
  [[ \${COMP_LINE:COMP_POINT-1:1} == ' ' ]] && words+=('')
  COMPREPLY=()
  while read -r line; do
    if [[ -z $kind ]]; then
      kind=$line
    else
      COMPREPLY+=("\${line%%$'\\t'*}")
    fi
  done < <(svc __complete "\${words[@]:1}" 2>/dev/null)
  if [[ $kind == files ]]; then
    compopt -o default 2>/dev/null
  fi
}
complete -F _svc svc
`;

const ZSH = `#compdef svc
# Completion of svc for zsh: eval "$(svc completion zsh)", after compinit; or this file as _svc in a folder of $fpath
_svc() {
  local tab=$'\\t'
  local -a lines found
  lines=("\${(@f)$(svc __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $lines[1] == files ]]; then
    _files
    return
  fi
  found=("\${(@)lines[2,-1]/$tab/:}")
  _describe svc found
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _svc "$@"
else
  compdef _svc svc
fi
`;

const FISH = `# Completion of svc for fish: svc completion fish | source
function __svc_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -e words[1]
    set -l lines (svc __complete $words "$word" 2>/dev/null)
    if test "$lines[1]" = files
        __fish_complete_path "$word"
    else
        set -e lines[1]
        string join \\n -- $lines
    end
end
complete -c svc -f -a '(__svc_complete)'
`;

/**
 * Completion scripts by shell. Each calls `svc __complete` at every Tab, so the words always match this version of
 * `svc`.
 */
const COMPLETION_SCRIPTS: ReadonlyMap<string, string> = new Map([
  ['bash', BASH],
  ['zsh', ZSH],
  ['fish', FISH],
]);

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
