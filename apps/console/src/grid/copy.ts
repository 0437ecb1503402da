/** Writes a text to the clipboard; also on pages without a secure context, where there is only the old way. */
export async function writeClipboard(text: string): Promise<void> {
  if (isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const write = (event: ClipboardEvent): void => {
    event.clipboardData?.setData('text/plain', text);
    event.preventDefault();
  };
  document.addEventListener('copy', write, { once: true });
  const isWritten = document.execCommand('copy');
  document.removeEventListener('copy', write);
  if (!isWritten) throw new Error('The browser did not allow to write to the clipboard.');
}
