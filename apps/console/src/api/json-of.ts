/** Returns the JSON of an answer. Its form is part of the API, and the page comes from the same server. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- The caller knows what it asked for.
export async function jsonOf<T>(response: Response): Promise<T> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (await response.json()) as T;
}
