// Fields that refer to stored data of a vendor's account, by an id or an address that only that account can read. All callers share
// the account, so a known or guessed id must never reach another caller's data. Data only.

import type { FieldRule } from '../contract/family'

const SEND_IT = 'Send the content itself instead, as base64, a data URL or a public address.'
const SEND_ALL = 'Leave it out, and send the whole conversation with each request.'

/**
 * An address on the public internet, a data URL, or plain base64: no scheme that only the vendor's account resolves.
 */
const PUBLIC =
  /^(?!\s*(?!https?:|data:)[a-z][a-z0-9+._-]*:)(?!\s*https?:\/\/[^/?#]*generativelanguage\.googleapis\.com)/i

/** Rules for ids of uploaded files. */
export function fileIds(...fields: readonly string[]): FieldRule[] {
  return fields.map((field) => ({
    field,
    why: "it names a file in the vendor's account",
    instead: SEND_IT,
    state: true,
  }))
}

/**
 * Rules for addresses that a vendor reads. `oss://`, `asset://`, `ms://`, `mm_file://` and `gs://` name uploads too, and so does an
 * address of the vendor's own API.
 */
export function addresses(...fields: readonly string[]): FieldRule[] {
  return fields.map((field) => ({
    field,
    plain: PUBLIC,
    why: "the address names a file in the vendor's account",
    instead: SEND_IT,
    state: true,
    address: true,
  }))
}

/** Rules for texts: models for long documents read the ids of uploaded ones from the text. */
export function filesInText(...fields: readonly string[]): FieldRule[] {
  return fields.map((field) => ({
    field,
    plain: /^(?!.*fileid:\/\/)/is,
    why: "the text names a file in the vendor's account",
    instead: 'Send the text of the file instead.',
    state: true,
    unless: ({ upstreamModel }) => !/qwen-(long|doc)/i.test(upstreamModel),
  }))
}

/** Rules for earlier answers and conversations that the vendor continues. */
export function earlierAnswers(...fields: readonly string[]): FieldRule[] {
  return fields.map((field) => ({
    field,
    why: "it names an earlier answer or conversation in the vendor's account",
    instead: SEND_ALL,
    state: true,
  }))
}

/** Rules for content that is cached under an id. */
export function namedCaches(...fields: readonly string[]): FieldRule[] {
  return fields.map((field) => ({
    field,
    why: "it names cached content in the vendor's account",
    instead: 'Leave it out, and send the content with the request.',
    state: true,
  }))
}

/** Rules for collections of documents that the vendor searches. */
export function documentStores(...fields: readonly string[]): FieldRule[] {
  return fields.map((field) => ({
    field,
    why: "it names documents in the vendor's account",
    instead: 'Leave it out, and send the content to read with the request.',
    state: true,
  }))
}

/** The rule for voices that were made from somebody's recording. `plain` matches voices that every caller may use. */
export function clonedVoices(field: string, plain?: RegExp): FieldRule {
  return {
    field,
    ...(plain && { plain }),
    why: "it names a voice in the vendor's account",
    instead: 'Choose a public voice of the vendor.',
    state: true,
  }
}

/** Public voices: names of cloned and designed voices are recognizable. */
export const VOICE_OF_ALL = /^(?!.*(?:-voice-|-v[cd]-|^voice_))/i
