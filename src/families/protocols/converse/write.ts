// Writes a conversation as a Converse request: turns, tools, limits, formats and cache points. It must never drop anything
// silently: unsupported parts are refused with their place.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.

import type { Call, Model } from '../../../contract/family'
import { asObject } from '../../../lib/objects'
import type { WriteOptions } from '../../conversation/bridge'
import type { Conversation, Settings, Tool } from '../../conversation/conversation'
import { leadingOf } from '../../conversation/sides'
import { callableTools, effortOf, forcedTool, outputLimit, systemPrompt } from '../../conversation/writing'
import { isHint, withoutKeywords } from '../../json-schema'
import { nameOf } from '../../sealed-reasoning'
import { converseEdit } from '../../traits/converse'
import { edited } from '../../traits/edit'
import { cachePoint, converseMessages } from './messages'

type Fields = Record<string, unknown>

/** The call. The model is in the path. */
export function writeConverse(conversation: Conversation, model: Model, options: WriteOptions): Call {
  const { settings } = conversation
  const tools = toolsSent(conversation)
  const messages = converseMessages(conversation, model, tools.length > 0)
  const system = systemBlocks(conversation, model)
  const output = outputOf(conversation, model)
  const request = {
    messages,
    ...(system.length > 0 && { system }),
    inferenceConfig: { maxTokens: outputLimit(settings, model, options), ...samplingOf(settings, model) },
    ...(tools.length > 0 && { toolConfig: toolConfigOf(tools, conversation, model) }),
    ...(Object.keys(output).length > 0 && { outputConfig: output }),
  }
  return {
    path: '/converse',
    protocol: 'native',
    body: { json: edited(request, converseEdit(request, model)) },
    stream: settings.stream,
  }
}

/** The instructions as one text, with a cache point if any of them is marked. */
function systemBlocks(conversation: Conversation, model: Model): Fields[] {
  const text = systemPrompt(conversation)
  if (text === '') return []
  const parts = leadingOf(conversation).flatMap((turn) => turn.parts)
  return [{ text }, ...cachePoint(parts.findLast(({ cache }) => cache)?.cache, model)]
}

/** Sampling, within the bounds of Converse: a temperature above 1 is refused (mnfst/modelparams.dev#305, 2026-08-19). */
function samplingOf({ temperature, topP, stop }: Settings, model: Model): Fields {
  // If two settings exclude each other, the one without effect is omitted.
  const isPlain = !model.traits.bothSampling && (temperature ?? 0) >= 1 && topP !== undefined && topP < 1
  const texts = stop.filter((text) => isStop(text, model))
  return {
    ...(temperature !== undefined && !isPlain && { temperature: Math.min(temperature, 1) }),
    ...(topP !== undefined && { topP }),
    ...(texts.length > 0 && { stopSequences: texts }),
  }
}

/** Whether an answer can be stopped at a text. Claude refuses blank ones (continuedev/continue#2554, 2024-10-17). */
function isStop(text: string, model: Model): boolean {
  return nameOf(model).startsWith('claude') ? text.trim() !== '' : text !== ''
}

/** The tools that may be called; calls cannot be sent without any, and no value means that none may be called. */
function toolsSent(conversation: Conversation): readonly Tool[] {
  return conversation.choice?.mode === 'none' ? [] : callableTools(conversation)
}

function toolConfigOf(tools: readonly Tool[], { choice }: Conversation, model: Model): Fields {
  const toolChoice = toolChoiceOf(choice)
  return {
    tools: tools.flatMap((tool) => [toolOf(tool), ...cachePoint(tool.cache, model)]),
    ...(toolChoice && { toolChoice }),
  }
}

function toolOf({ name, description, parameters, isStrict }: Tool): Fields {
  const schema = parameters ?? { properties: {} }
  const typed = schema.type === undefined ? { type: 'object', ...schema } : schema
  return {
    toolSpec: {
      name,
      ...(description !== undefined && { description }),
      inputSchema: { json: withoutKeywords(typed, isHint) },
      ...(isStrict && { strict: true }),
    },
  }
}

/** The choice. Not every model accepts one, and `auto` is the vendor's default. */
function toolChoiceOf(choice: Conversation['choice']): Fields | undefined {
  if (choice?.mode !== 'required') return undefined
  const name = forcedTool(choice)
  return name === undefined ? { any: {} } : { tool: { name } }
}

/** How hard the model thinks, and the schema of the answer. */
function outputOf({ settings, extra }: Conversation, model: Model): Fields {
  const requested = effortOf(settings, model)
  const { effort = requested === 'minimal' ? 'low' : requested } = asObject(extra?.converse?.outputConfig)
  const jsonSchema = schemaOf(settings)
  return {
    ...(effort !== undefined && { effort }),
    ...(jsonSchema && { textFormat: { type: 'json_schema', structure: { jsonSchema } } }),
  }
}

function schemaOf({ format }: Settings): Fields | undefined {
  if (format?.type !== 'json_schema') return undefined
  const { name, description, schema } = format
  return { schema: JSON.stringify(schema), name, ...(description !== undefined && { description }) }
}
