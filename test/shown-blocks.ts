// What a page shows, and whether it is so; docs/README.md has the rules.

/** A fenced block of a page. */
export interface Block {
  readonly language: string;
  /** What stands behind the language. */
  readonly mark: string;
  readonly text: string;
  /** The line of its opening fence, counted from 1. */
  readonly line: number;
  /** Whether only blank lines are between it and the block before it. */
  readonly followsAtOnce: boolean;
}

/** The blocks of a page, in order. */
export function blocksOf(markdown: string): Block[] {
  const fence = /^(?<before>[^]*?)^(?<ticks>`{3,})(?<language>\w*) *(?<mark>.*)\n(?<text>[^]*?)^\k<ticks>$/m;
  const blocks: Block[] = [];
  let rest = markdown;
  let line = 1;
  for (let match = fence.exec(rest); match?.groups; match = fence.exec(rest)) {
    const { before, language, mark, text } = match.groups;
    line += before.split('\n').length - 1;
    blocks.push({ language, mark, text, line, followsAtOnce: before.trim() === '' });
    line += match[0].slice(before.length).split('\n').length - 1;
    rest = rest.slice(match[0].length);
  }
  return blocks;
}

/** The form in which what is shown and what is printed are compared. */
export function normalize(text: string, language: string): string {
  const plain = text.replaceAll('\r', '').replaceAll('0.0.0.0', '127.0.0.1');
  if (language === 'json') return plain.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
  return `${plain.replaceAll(/[ \t]+$/gm, '').trim()}\n`;
}

/** Whether a text is the one that is shown, `…` standing for anything inside a line, and alone on a line for any lines. */
export function isAsShown(printed: string, { text, language }: Block): boolean {
  const pattern = normalize(text, language)
    .replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/^…\n/gm, String.raw`(?:[^\n]*\n)*?`)
    .replaceAll('…', String.raw`[^\n]*?`);
  return new RegExp(`^${pattern}$`).test(normalize(printed, language));
}
