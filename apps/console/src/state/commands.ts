import { computed, type ReadonlySignal, signal } from '@preact/signals';

/** Something the user can do now. The palette lists it, its key runs it, the help explains the key. */
export interface Command {
  /** A name that stays the same, such as `query.run`. */
  readonly id: string;
  /** What it does, in the imperative: `Run the statement at the cursor`. */
  readonly title: string;
  /** The key, such as `Ctrl+Enter`, `Alt+T` or `k`; see `keys.ts`. A single letter works only outside of text fields. */
  readonly key?: string;
  /** The help shows the commands of a group together. */
  readonly group: 'Go to' | 'Tabs' | 'Query' | 'Rows' | 'Frame' | 'Console';
  /** False for commands that only the key runs: the palette does not list them. Default: true. */
  readonly isListed?: boolean;
  /** False: there was nothing to do, and the browser gets the key. */
  readonly run: () => void | false;
}

/** The commands of everything that is on the page. */
export interface Commands {
  readonly all: ReadonlySignal<readonly Command[]>;
  /** Adds commands, and returns the function that removes them. Of two with one key, the later wins. */
  add(commands: readonly Command[]): () => void;
}

export function createCommands(): Commands {
  const groups = signal<readonly (readonly Command[])[]>([]);
  return {
    all: computed(() => groups.value.flat()),
    add(commands) {
      groups.value = [...groups.peek(), commands];
      return () => {
        groups.value = groups.peek().filter((group) => group !== commands);
      };
    },
  };
}
