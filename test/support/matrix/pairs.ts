// The matrix: every dialect of callers with every protocol of vendors of another dialect, and the requests whose answers are read.

import type { MadeFamily, Model, ParsedRequest } from '../../../src/contract/family'
import { bridge, type ConversationDialect, type Protocol } from '../../../src/families/conversation/bridge'
import { chatDialect } from '../../../src/families/dialects/chat/dialect'
import { geminiDialect } from '../../../src/families/dialects/gemini/dialect'
import { messagesDialect } from '../../../src/families/dialects/messages/dialect'
import { responsesDialect } from '../../../src/families/dialects/responses/dialect'
import { converseProtocol } from '../../../src/families/protocols/converse/protocol'
import { geminiProtocol } from '../../../src/families/protocols/gemini/protocol'
import { messagesProtocol } from '../../../src/families/protocols/messages/protocol'
import { openaiChatProtocol } from '../../../src/families/protocols/openai-chat/protocol'
import { responsesProtocol } from '../../../src/families/protocols/responses/protocol'
import { modelsOfFamily } from '../bridges/models'
import { checked } from '../bridges/request-outcome'
import { schema } from '../bridges/request-samples'
import type { Json } from '../scenario'

export type DialectName = 'chat' | 'messages' | 'responses' | 'gemini'

export interface Meeting {
  name: string
  dialect: DialectName
  protocol: string
  family: MadeFamily
  models: readonly Model[]
}

const dialects = [
  chatDialect,
  messagesDialect,
  responsesDialect,
  geminiDialect,
] as unknown as readonly ConversationDialect[]
const protocols: readonly Protocol[] = [
  openaiChatProtocol,
  messagesProtocol,
  responsesProtocol,
  converseProtocol,
  geminiProtocol,
]

export const meetings: readonly Meeting[] = dialects.flatMap((dialect) =>
  protocols.filter(({ name }) => name !== dialect.name).map((protocol) => meetingOf(dialect, protocol)),
)

function meetingOf(dialect: ConversationDialect, protocol: Protocol): Meeting {
  const name = `${dialect.name}-on-${protocol.name}`
  const family = bridge(dialect, protocol) as unknown as MadeFamily
  const models = modelsOfFamily(family)
  return { name, dialect: dialect.name as DialectName, protocol: protocol.name, family, models }
}

const tools = ['tool_0', 'tool_1', 'tool_2', 'look', 'weather']
const functions = tools.map((name) => ({ name, description: 'A tool.', parameters: schema }))

/** Requests whose answers use every feature of a dialect (thinking, calls and figures), whole and as a stream. */
const requests: Readonly<Record<DialectName, (model: string) => Json>> = {
  chat: (model) => ({
    model,
    messages: [{ role: 'user', content: 'Hi' }],
    stream_options: { include_usage: true },
    include_reasoning: true,
    tools: functions.map((called) => ({ type: 'function', function: called })),
  }),
  messages: (model) => ({
    model,
    max_tokens: 9_000,
    messages: [{ role: 'user', content: 'Hi' }],
    tools: functions.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
  }),
  responses: (model) => ({
    model,
    input: 'Hi',
    store: false,
    reasoning: { summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    tools: functions.map((tool) => ({ type: 'function', ...tool })),
  }),
  gemini: (model) => ({
    model,
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    generationConfig: { thinkingConfig: { includeThoughts: true } },
    tools: [
      {
        functionDeclarations: functions.map(
          ({ parameters: { additionalProperties: _, ...rest }, ...tool }) => ({ ...tool, parameters: rest }),
        ),
      },
    ],
  }),
}

/** A request that the model of a pair accepts. Throws if it does not. */
export function requestOf({ dialect }: Meeting, model: Model, isStream: boolean): ParsedRequest {
  const body = requests[dialect](model.id)
  return checked(
    model,
    JSON.stringify(
      dialect === 'gemini'
        ? body
        : {
            ...body,
            ...(dialect === 'chat' && !isStream && { stream_options: undefined }),
            stream: isStream,
          },
    ),
  )
}
