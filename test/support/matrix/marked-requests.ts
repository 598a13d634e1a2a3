// Requests in which all content is marked. The vendor's request must contain each mark once, and nothing else. Marks replace texts,
// the content of files, and the inputs of calls. It must not depend on any protocol.

import type { Json } from '../scenario'

export interface Marked {
  body: Json
  /** Marks of content that must be sent. */
  sent: readonly string[]
  /** Marks of content that the tables allow to omit: thinking, and descriptions of tools that are not sent. */
  optional: readonly string[]
}

/** Members that contain a text of either side. */
const TEXTS = new Set(['text', 'content', 'instructions', 'system', 'output', 'refusal', 'input'])
const THINKING = new Set(['thinking', 'reasoning_content', 'summary'])
/** Members without content. */
const OTHERS = new Set([
  ...[
    'metadata',
    'stop',
    'stop_sequences',
    'response_format',
    'output_config',
    'generationConfig',
    'user',
    'prediction',
  ],
  ...[
    'reasoning',
    'reasoning_details',
    'extra_content',
    'safety_identifier',
    'tool_choice',
    'toolConfig',
    'text_format',
  ],
])

export function markedRequest(body: Json): Marked {
  const marking = new Marking()
  return { body: marking.of(body, '', false), sent: marking.sent, optional: marking.optional }
}

class Marking {
  readonly sent: string[] = []
  readonly optional: string[] = []

  of(value: Json, member: string, isThought: boolean): Json {
    if (Array.isArray(value)) return value.map((each) => this.of(each, member, isThought))
    if (typeof value === 'string') return this.text(value, member, isThought)
    if (typeof value !== 'object' || value === null) return value
    const inThought = isThought || value.type === 'reasoning' || value.thought === true
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, this.member(name, each, value, member, inThought)]),
    )
  }

  private member(name: string, value: Json, holder: Json, under: string, isThought: boolean): Json {
    if (OTHERS.has(name) || (name === 'text' && typeof value === 'object')) return value
    // An input of a call, as JSON or parsed.
    if (
      name === 'arguments' &&
      typeof value === 'string' &&
      /^(?:function_call|undefined)$/.test(String(holder.type))
    )
      return JSON.stringify({ place: this.mark(isThought) })
    if ((name === 'input' && holder.type === 'tool_use') || name === 'args')
      return { place: this.mark(isThought) }
    if (name === 'url' || name === 'image_url' || name === 'file_data' || name === 'fileUri') {
      return typeof value === 'object' ? this.of(value, name, isThought) : this.file(value)
    }
    if (name === 'data' && typeof value === 'string') {
      if (holder.type === 'text') return this.mark(isThought)
      if (holder.type === 'redacted_thinking') return value
      return value === '' ? value : btoa(this.mark(isThought))
    }
    // Strings in a list of texts.
    return this.of(value, name === 'parts' ? under : name, isThought)
  }

  private text(value: string, member: string, isThought: boolean): string {
    if (value.trim() === '') return value
    if (THINKING.has(member)) return this.mark(true)
    return TEXTS.has(member) ? this.mark(isThought) : value
  }

  /** A file at an address, or within a data URL. */
  private file(value: Json): Json {
    if (typeof value !== 'string') return value
    const [, head] = /^(data:[^,]*;base64,)./.exec(value) ?? []
    if (head) return head + btoa(this.mark(false))
    const [, address] = /^(https?:\/\/example\.com\/)/.exec(value) ?? []
    return address ? `${address}${this.mark(false)}.png` : value
  }

  private mark(isOptional: boolean): string {
    const list = isOptional ? this.optional : this.sent
    // Its length needs no padding in base64, and no other mark begins with its end.
    const mark = `mark${String(this.sent.length + this.optional.length).padStart(4, '0')}q`
    list.push(mark)
    return mark
  }
}

/** The number of times that a mark is in a vendor's request, as a text or as the content of a file. */
export function countOf(mark: string, request: string): number {
  return request.split(mark).length - 1 + (request.split(btoa(mark)).length - 1)
}

/** Lines of the vendor's request that come neither from a mark nor from the caller. */
export function wordsBeside(request: Json, body: Json): string[] {
  const own = stringsIn(body)
  const lines = saidIn(request).flatMap((text) => text.replaceAll(/mark\d{4}q/g, '').split('\n'))
  return lines.map((line) => line.trim()).filter((line) => line !== '' && !isOf(line, own))
}

function saidIn(value: Json, member = ''): string[] {
  if (typeof value === 'string') return SAID.has(member) ? [value] : []
  if (Array.isArray(value)) return value.flatMap((each) => saidIn(each, member))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, each]) => (OTHERS.has(name) ? [] : saidIn(each, name)))
}

const SAID = new Set(['text', 'content', 'instructions', 'system', 'output', 'refusal', 'arguments', 'query'])

/** Whether a line is the caller's own, or JSON that contains only such lines. */
function isOf(line: string, own: readonly string[]): boolean {
  if (own.some((text) => text.includes(line))) return true
  const [json] = /[{[].*[\]}]$/.exec(line) ?? []
  return json !== undefined && isJsonOf(json, own)
}

function isJsonOf(json: string, own: readonly string[]): boolean {
  try {
    return stringsIn(JSON.parse(json)).every((text) => text === '' || own.some((each) => each.includes(text)))
  } catch {
    return false
  }
}

/** All strings, including those within JSON texts. */
function stringsIn(value: Json): string[] {
  if (typeof value === 'string') {
    return /^[{[]/.test(value) ? [value, ...stringsIn(parsedOr(value))] : [value]
  }
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(stringsIn)
}

function parsedOr(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
