/** Copies a text. Pages that are not served over TLS or from this machine have no clipboard API. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'off-screen';
  // A modal dialog makes everything outside of it unable to have the focus.
  (document.querySelector('dialog[open]') ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new Error('The browser refused to copy.');
}
