// Checks the media type of a body. Only a different stated type may be refused: many callers state none.

import { GatewayError } from '../lib/errors'

/** Throws 415 for a type that is not JSON. */
export function checkJsonType(header: string | null): void {
  // The header of nearly every client.
  if (header === null || header === 'application/json') return
  const type = header.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type === '' || /^(application|text)\/([\w.!#$&^-]+\+)?json$/.test(type)) return
  throw new GatewayError(415, {
    code: 'unsupported_media_type',
    message: `This endpoint accepts JSON, not ${type.slice(0, 100)}. Send it with the header 'Content-Type: application/json'${adviceFor(type)}.`,
  })
}

function adviceFor(type: string): string {
  if (type === 'application/x-www-form-urlencoded') {
    return `: \`curl -d\` sends a form unless you add -H 'Content-Type: application/json'`
  }
  return type === 'multipart/form-data' ? ', and files in it as addresses or base64' : ''
}
