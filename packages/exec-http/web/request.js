// Requests to the server: how the page sends them, and how they are written in other languages.

/** The API is where the page is. */
const BASE = new URL('../', import.meta.url);
const MAX_SHOWN_BYTES = 1024 * 1024;

/** Kept in memory only: a reload asks again. */
let token = '';

/** Sets the token that requests carry. */
export function setToken(text) {
  token = text.trim();
}

/** Returns the request that the values of a form describe. */
export function buildRequest({ method, path }, { values, contentType, body }) {
  const given = values.filter(({ parameter, text }) => text !== '' && parameter.in !== 'path');
  const names = values.filter(({ parameter }) => parameter.in === 'path');
  const filled = names.reduce(
    (target, { parameter, text }) => target.replace(`{${parameter.name}}`, encodeURIComponent(text)),
    path.slice(1),
  );
  const query = new URLSearchParams();
  for (const { parameter, text } of given) {
    if (parameter.in !== 'query') continue;
    const texts = parameter.schema.type === 'array' ? text.split('\n') : [text];
    for (const value of texts) query.append(parameter.name, value);
  }
  const inHeaders = given.filter(({ parameter }) => parameter.in === 'header');
  const headers = Object.fromEntries(inHeaders.map(({ parameter, text }) => [parameter.name, text]));
  const target = query.size === 0 ? filled : `${filled}?${query}`;
  const isPlainGet = method === 'GET' && inHeaders.length === 0 && token === '';
  return {
    method,
    target,
    headers: contentType === undefined ? headers : { ...headers, 'Content-Type': contentType },
    ...(body !== undefined && { body: contentType === 'application/x-www-form-urlencoded' ? asForm(body) : body }),
    ...(isPlainGet && { link: new URL(target, BASE).href }),
  };
}

/** The text of a form is its field `query`. */
function asForm(body) {
  return typeof body === 'string' ? String(new URLSearchParams({ query: body })) : body;
}

/** Sends a request, with the token if there is one. */
export function send({ method, target, headers, body }, signal) {
  const all = token === '' ? headers : { ...headers, Authorization: `Bearer ${token}` };
  // `target` may begin like a URL: `//host` is a path here.
  const url = new URL(BASE);
  const [path, query = ''] = target.split(/\?(.*)/s);
  url.pathname += path;
  url.search = query;
  return fetch(url, { method, headers: all, body, signal, cache: 'no-store' });
}

/** Reads the start of a body; the rest of a long one is cancelled. */
export async function readLimited({ body }) {
  if (body === null) return { bytes: new Uint8Array(0), isCut: false };
  const reader = body.getReader();
  const chunks = [];
  let size = 0;
  let isCut = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    size += value.byteLength;
    if (size > MAX_SHOWN_BYTES) {
      isCut = true;
      await reader.cancel();
      break;
    }
  }
  return { bytes: new Uint8Array(await new Blob(chunks).arrayBuffer()), isCut };
}

/** Whether a body of this type can be shown. */
export function isText(contentType) {
  return /^text\/|json/.test(contentType);
}

/** Indents the first levels of JSON. The digits stay as they are: a parser would round large numbers. */
export function indentJson(text) {
  let depth = 0;
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]/g, (token_) => {
    if (token_ === ':') return ': ';
    if (token_ === ',') return depth <= 2 ? `,\n${'  '.repeat(depth)}` : ', ';
    if (token_ === '[' || token_ === '{') {
      depth += 1;
      return depth <= 2 ? `${token_}\n${'  '.repeat(depth)}` : token_;
    }
    if (token_ !== ']' && token_ !== '}') return token_;
    depth -= 1;
    return depth < 2 ? `\n${'  '.repeat(depth)}${token_}` : token_;
  });
}

function headersOf({ headers }) {
  return token === '' ? headers : { ...headers, Authorization: 'Bearer <token>' };
}

function shellQuoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Writes a request as a command of curl. */
export function asCurl(request) {
  const { method, target, body } = request;
  const parts = [method === 'GET' ? 'curl' : `curl -X ${method}`, shellQuoted(`${BASE}${target}`)];
  for (const [name, value] of Object.entries(headersOf(request))) parts.push(`-H ${shellQuoted(`${name}: ${value}`)}`);
  if (body instanceof File) parts.push(`--data-binary ${shellQuoted(`@${body.name}`)}`);
  else if (body !== undefined) parts.push(`--data-binary ${shellQuoted(body)}`);
  return parts.join(' \\\n  ');
}

/** Writes a request as a call of `fetch`. */
export function asFetch(request) {
  const { method, target, body } = request;
  const headers = headersOf(request);
  const options = {
    ...(method !== 'GET' && { method }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(body !== undefined && { body: body instanceof File ? `<${body.name}>` : body }),
  };
  const more = Object.keys(options).length === 0 ? '' : `, ${JSON.stringify(options, null, 2)}`;
  return `const response = await fetch(${JSON.stringify(`${BASE}${target}`)}${more});`;
}
