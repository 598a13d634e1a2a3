// The arguments of tools, derived from the contracts of the families: nothing is written twice. A field that the model does not
// accept must be refused by name, never dropped.

import { type TSchema, Type } from '@sinclair/typebox'
import type { Model, PlainField, PlainRequest } from '../contract/family'
import { type OperationName, operationOf } from '../contract/operations'
import { families } from '../families'
import { invalidRequest } from '../lib/errors'
import { isPresent, optionalArgument, presentMembers } from './tool'

type Named = Exclude<PlainField, 'uploads'>

const plainFields: Record<Named, TSchema> = {
  n: Type.Integer({ minimum: 1, maximum: 128, description: 'How many to make.' }),
  size: Type.String({
    description: 'Width and height such as 1024x1536, or a word of the model such as 2K or auto.',
  }),
  quality: Type.String({ description: 'Such as low or high.' }),
  resolution: Type.String({ description: 'Such as 2k for an image or 720p for a video.' }),
  duration: Type.Integer({ minimum: -1, maximum: 3_600, description: 'Seconds.' }),
  images: Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1,
    maxItems: 16,
    description: 'Addresses (https) or data URLs of reference images.',
  }),
}

export const modelField = Type.String({ description: 'Id of a model; list_models has those of each tool.' })

/** Arguments of every paid tool, in addition to its own. */
export const paidFields = {
  max_cost_usd: optionalArgument(
    Type.Union([Type.Number({ minimum: 0 }), Type.String()], {
      description:
        'Most dollars that this call may cost, such as 0.05. A call that can cost more is refused before it is sent.',
    }),
  ),
  idempotency_key: optionalArgument(
    Type.String({
      minLength: 1,
      description:
        'Any unique text. The same call sent again with the same key is answered again and paid once.',
    }),
  ),
}

export const optionsField = optionalArgument(
  Type.Object(
    {},
    {
      additionalProperties: true,
      description:
        "Further members of the request in the model's own form; list_models with a model shows its schema.",
    },
  ),
)

/** The plain fields of a request, for any model of these operations. */
export function plainFieldsOf(...names: OperationName[]): Record<string, TSchema> {
  const taken = [...families.values()].flatMap(({ operation, plain }) =>
    names.includes(operation) ? (plain?.fields ?? []) : [],
  )
  const fields = Object.keys(plainFields) as Named[]
  return Object.fromEntries(
    fields.flatMap((name) => (taken.includes(name) ? [[name, optionalArgument(plainFields[name])]] : [])),
  )
}

/** Fields of the body that all families of an operation share. */
export function bodyFields(operation: OperationName, names: readonly string[]): Record<string, TSchema> {
  const family = [...families.values()].find((each) => each.operation === operation)
  const properties = (family?.body.properties ?? {}) as Record<string, TSchema>
  return Object.fromEntries(names.map((name) => [name, properties[name] as TSchema]))
}

/** The tool's arguments as a request body in the model's own fields. */
export function rewordPlain(args: Record<string, unknown>, model: Model): Record<string, unknown> {
  const { plain, operation } = model.family
  if (!plain) {
    throw invalidRequest(
      'model',
      `${model.id} cannot be requested by plain options: use POST ${operationOf(operation).path}.`,
    )
  }
  const { model: id, prompt, options, ...fields } = presentMembers(args)
  const unknown = Object.keys(fields).find((name) => !plain.fields.includes(name as PlainField))
  if (unknown !== undefined) {
    const takes = plain.fields.length === 0 ? 'nothing besides the prompt' : plain.fields.join(', ')
    throw invalidRequest(
      unknown,
      `Unsupported argument: ${model.id} takes no '${unknown}'. It takes ${takes}.`,
      'unsupported_parameter',
    )
  }
  const own = plain.body({ text: prompt as string, ...(fields as Omit<PlainRequest, 'text'>) }, model)
  return { ...own, ...checkedOptions(options), model: id }
}

/** The options without `stream` and `model`. Throws 400 if they request a stream or name a model. */
export function checkedOptions(options: unknown): Record<string, unknown> {
  const { stream, model, ...rest } = (options ?? {}) as Record<string, unknown>
  if (stream === true) {
    throw invalidRequest(
      'options.stream',
      "Invalid 'options.stream': a tool returns whole answers. Leave it out; callers who send a progress token receive progress.",
    )
  }
  if (isPresent(model)) {
    throw invalidRequest('options.model', "Invalid 'options.model': name the model in 'model' alone.")
  }
  return rest
}
