// The settings of a conversation: the fields that its models accept in addition to the text, as the gateway describes them.

import type { PricedModel } from '../key-api'
import { keyTexts } from '../texts'
import type { Kind, Values } from './conversation'
import type { PlaygroundState } from './state'

const words = keyTexts.playground

interface FieldsProps {
  values: Values
  change(name: string, value: string): void
}

export function Settings({
  playground,
  models,
}: {
  playground: PlaygroundState
  models: readonly PricedModel[]
}) {
  const { kind, values } = playground.conversation.value
  const own = { values, change: (name: string, value: string) => playground.setValue(name, value) }
  if (kind === 'chat') return <ChatFields {...own} />
  return (
    <div class="form">
      <KindFields {...own} kind={kind} models={models} />
    </div>
  )
}

function ChatFields(own: FieldsProps) {
  return (
    <div class="form">
      <Choice {...own} name="api" title={words.api} options={words.apis} />
      <Long {...own} name="system" title={words.system} rows={3} />
      <div class="fields">
        <Small {...own} name="max_tokens" title={words.maxTokens} isNumber />
        <Small {...own} name="temperature" title={words.temperature} isNumber step="0.1" />
      </div>
      <details open={Boolean(own.values.tools)}>
        <summary>{words.toolsTitle}</summary>
        <Long {...own} name="tools" title={words.tools} rows={6} isCode />
        <small class="quiet">{words.toolsHint}</small>
      </details>
      <details open={Boolean(own.values.schema)}>
        <summary>{words.schemaTitle}</summary>
        <Long {...own} name="schema" title={words.schema} rows={6} isCode />
        <small class="quiet">{words.schemaHint}</small>
      </details>
    </div>
  )
}

/** Fields that all chosen models accept, with the values of the first. */
function KindFields({ kind, models, ...own }: FieldsProps & { kind: Kind; models: readonly PricedModel[] }) {
  const [first] = models
  const options = first?.options[kind]
  if (kind === 'speech') {
    const { voices = [] } = options ?? {}
    return (
      <>
        <Choice {...own} name="voice" title={words.voice} options={withDefault(voices)} />
        <Long {...own} name="instructions" title={words.manner} rows={2} />
      </>
    )
  }
  if (kind === 'transcription')
    return (
      <>
        <Small {...own} name="language" title={words.language} />
        {models.every(({ operations }) => operations.includes('translation')) && (
          <Choice {...own} name="translate" title={words.translate} options={words.translations} />
        )}
      </>
    )
  if (kind === 'rerank') return <Long {...own} name="documents" title={words.documents} rows={8} />
  if (kind === 'embeddings') {
    const { dimensions } = options ?? {}
    return Array.isArray(dimensions) ? (
      <Choice
        {...own}
        name="dimensions"
        title={words.dimensions}
        options={withDefault(dimensions.map(String))}
      />
    ) : (
      <Small {...own} name="dimensions" title={words.dimensions} isNumber />
    )
  }
  const has = (name: string) => models.every((model) => model.options[kind]?.fields.includes(name))
  const { durations, sizes } = options ?? {}
  const seconds = durations ? `${words.duration} (${durations.min}–${durations.max})` : words.duration
  return (
    <div class="fields">
      {has('n') && <Small {...own} name="n" title={words.number} isNumber />}
      {has('size') && <Small {...own} name="size" title={words.size} known={sizes} />}
      {has('quality') && <Small {...own} name="quality" title={words.quality} />}
      {has('resolution') && <Small {...own} name="resolution" title={words.resolution} />}
      {has('duration') && <Small {...own} name="duration" title={seconds} isNumber />}
    </div>
  )
}

function withDefault(all: readonly string[]): readonly (readonly [string, string])[] {
  return [['', words.default], ...all.map((each) => [each, each] as const)]
}

interface OneProps extends FieldsProps {
  name: string
  title: string
}

function Choice(props: OneProps & { options: readonly (readonly [value: string, title: string])[] }) {
  const { name, title, options, values, change } = props
  return (
    <label class="field">
      <span>{title}</span>
      <select
        name={name}
        value={values[name] ?? ''}
        onChange={(event) => change(name, event.currentTarget.value)}
      >
        {options.map(([value, text]) => (
          <option value={value} key={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

function Long(props: OneProps & { rows: number; isCode?: boolean }) {
  const { name, title, rows, isCode = false, values, change } = props
  return (
    <label class="field">
      <span>{title}</span>
      <textarea
        name={name}
        rows={rows}
        class={isCode ? 'id' : undefined}
        spellcheck={!isCode}
        value={values[name] ?? ''}
        onInput={(event) => change(name, event.currentTarget.value)}
      />
    </label>
  )
}

interface SmallProps extends OneProps {
  /** Known values; there may be others. */
  known?: readonly string[] | undefined
  isNumber?: boolean
  step?: string
}

function Small({ name, title, known, isNumber = false, step = '1', values, change }: SmallProps) {
  return (
    <label class="field">
      <span>{title}</span>
      <input
        name={name}
        type={isNumber ? 'number' : 'text'}
        step={isNumber ? step : undefined}
        min={isNumber ? 0 : undefined}
        list={known && `known-${name}`}
        placeholder={words.default}
        autocomplete="off"
        value={values[name] ?? ''}
        onInput={(event) => change(name, event.currentTarget.value)}
      />
      {known && (
        <datalist id={`known-${name}`}>
          {known.map((each) => (
            <option value={each} key={each} />
          ))}
        </datalist>
      )}
    </label>
  )
}
