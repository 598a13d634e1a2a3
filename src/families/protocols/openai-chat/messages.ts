// Writes the turns of a conversation as chat messages. Anything that chat cannot express is refused with its place. Reasoning is
// next to its message, to be opened for vendors that require it.

import { invalidRequest } from '../../../lib/errors'
import type { SealedMessage } from '../../chat/returned-reasoning'
import type {
  AssistantTurn,
  Conversation,
  InstructionTurn,
  Part,
  ToolCall,
  ToolResult,
  UserTurn,
} from '../../conversation/conversation'

type Message = SealedMessage['message']
type MessagePart = { type: string; [field: string]: unknown }

const BLANK_LINE = '\n\n'
/** A placeholder in a tool's output, where chat accepts only text. */
const SHOWN_BELOW = '(Shown in the next message.)'
const NOTHING_SEALED: readonly string[] = []

/** How a vendor differs from the others. */
export interface ChatVendor {
  /** Accepts developer messages anywhere. */
  knowsDevelopers: boolean
  /** Reads documents at a URL. */
  readsAddresses: boolean
}

/**
 * The messages. Leading instructions go into the first message; later ones become texts of the user, marked as such, because the
 * templates of many models accept them only at the beginning.
 */
export function chatMessagesOf({ turns }: Conversation, vendor: ChatVendor): SealedMessage[] {
  const end = turns.findIndex(({ side }) => side !== 'system')
  const leading = turns.slice(0, end === -1 ? undefined : end)
  const messages = new Messages(vendor)
  messages.begin(leading.filter((turn) => turn.side === 'system'))
  for (const turn of turns.slice(leading.length)) {
    if (turn.side === 'user') messages.addUserTurn(turn)
    else if (turn.side === 'assistant') messages.addSpoken(turn)
    else messages.addInstructions(turn)
  }
  return messages.whole()
}

class Messages {
  private readonly list: SealedMessage[] = []
  /** Parts of the open message of the user. */
  private parts: MessagePart[] = []
  /** The place right after the last calls and their results, where vendors expect the next results. */
  private afterCalls = 0

  constructor(private readonly vendor: ChatVendor) {}

  begin(turns: readonly InstructionTurn[]): void {
    this.instruct(turns)
    this.afterCalls = this.list.length
  }

  addInstructions(turn: InstructionTurn): void {
    if (this.vendor.knowsDevelopers) {
      this.endUser()
      this.instruct([turn])
    } else this.parts.push({ type: 'text', text: `<system>\n${textOfInstructions([turn])}\n</system>` })
  }

  addUserTurn({ results, parts }: UserTurn): void {
    const messages = results.map((result) => plain(toolMessage(result)))
    this.list.splice(this.afterCalls, 0, ...messages)
    this.afterCalls += messages.length
    // Results can only be text: their other parts follow.
    const shown = results.flatMap((result) => result.parts.filter(({ type }) => type !== 'text'))
    for (const part of [...shown, ...parts]) this.parts.push(messagePart(part, this.vendor))
  }

  /** The message of a turn; none for thinking without a text or call. */
  addSpoken({ steps }: AssistantTurn): void {
    this.endUser()
    const texts = steps.flatMap((step) => (step.kind === 'text' && step.text !== '' ? [step.text] : []))
    const calls = steps.flatMap((step) => (step.kind === 'call' ? [callOf(step.call)] : []))
    if (texts.length + calls.length === 0) return
    const sealed = steps.flatMap((step) => (step.kind === 'reasoning' && step.sealed ? [step.sealed] : []))
    const message = {
      role: 'assistant' as const,
      content: texts.length === 0 ? null : texts.join(BLANK_LINE),
      ...(calls.length > 0 && { tool_calls: calls }),
    }
    this.list.push({ message, sealed })
    this.afterCalls = this.list.length
  }

  whole(): SealedMessage[] {
    this.endUser()
    return this.list
  }

  private instruct(turns: readonly InstructionTurn[]): void {
    const content = textOfInstructions(turns)
    if (content !== '') this.push({ role: this.vendor.knowsDevelopers ? 'developer' : 'system', content })
  }

  private endUser(): void {
    if (this.parts.length > 0) this.push({ role: 'user', content: contentOf(this.parts) })
    this.parts = []
  }

  private push(message: Message): void {
    this.list.push(plain(message))
  }
}

function plain(message: Message): SealedMessage {
  return { message, sealed: NOTHING_SEALED }
}

function textOfInstructions(turns: readonly InstructionTurn[]): string {
  return joined(turns.flatMap(({ parts }) => parts.map(({ text }) => text)))
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join(BLANK_LINE)
}

function callOf({ id, name, input, form, at }: ToolCall) {
  if (form === 'custom') throw refused(at, 'is the call of a custom tool, and this model calls functions')
  return { id, type: 'function', function: { name, arguments: input } }
}

function toolMessage({ call, parts, hasFailed }: ToolResult): Message {
  const text = joined(parts.map((part) => (part.type === 'text' ? part.text : SHOWN_BELOW)))
  return { role: 'tool', tool_call_id: call.id, content: hasFailed ? `Error: ${text}` : text }
}

const SOUND = /^data:audio\/([a-z0-9.+-]+);base64,/i

function messagePart(part: Part, { readsAddresses }: ChatVendor): MessagePart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image': {
      const { url, detail } = part
      const look = detail === 'original' ? 'high' : detail
      return { type: 'image_url', image_url: { url, ...(look !== undefined && { detail: look }) } }
    }
    case 'document': {
      const { url, filename = 'document.pdf' } = part
      if (readsAddresses || !/^[a-z][a-z0-9+.-]*:\/\//i.test(url))
        return { type: 'file', file: { filename, file_data: url } }
      throw refused(
        part.urlAt,
        'is an address, and this model takes files as data URLs. Send the content itself',
      )
    }
    case 'audio': {
      const [begin = '', format] = SOUND.exec(part.url) ?? []
      if (format) return { type: 'input_audio', input_audio: { data: part.url.slice(begin.length), format } }
      throw refused(part.urlAt, 'is not a data URL of audio, which this model needs')
    }
  }
  throw refused(part.at, `is a part of type '${part.type}', which this model does not take`)
}

function refused(at: string, why: string) {
  return invalidRequest(at, `Unsupported value: '${at}' ${why}.`, 'unsupported_value')
}

/** A plain string if possible: many servers accept nothing else. */
function contentOf(parts: readonly MessagePart[]): string | MessagePart[] {
  const texts = parts.flatMap(({ type, text }) => (type === 'text' ? [text as string] : []))
  return texts.length === parts.length ? joined(texts) : [...parts]
}
