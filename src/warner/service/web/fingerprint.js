// The SHA-256 of a survey in one spelling, the same as in Python: fields by code point, no spaces, UTF-8.

const byCodePoint = (a, b) => {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return (a.codePointAt(i) ?? -1) - (b.codePointAt(i) ?? -1);
};

function spelled(json) {
  if (Array.isArray(json)) return `[${json.map(spelled)}]`;
  if (json && typeof json === "object") {
    const fields = Object.keys(json).sort(byCodePoint);
    return `{${fields.map((name) => `${spelled(name)}:${spelled(json[name])}`)}}`;
  }
  // Other numbers are written differently, and half a surrogate pair is nothing that UTF-8 can hold.
  const known = { number: Number.isSafeInteger, string: (text) => text.isWellFormed(), boolean: () => true };
  if (json !== null && !known[typeof json]?.(json))
    throw new TypeError("a survey must hold integers within 2^53, and texts without half a surrogate pair");
  return JSON.stringify(json);
}

/** The fingerprint of what JSON.parse made of a survey, in hexadecimal; browsers give it in secure contexts only. */
export async function fingerprint(survey) {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(spelled(survey)));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
