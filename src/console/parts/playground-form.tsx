// The form of the playground: the fields that the chosen model takes, made from what the gateway tells of it.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { ApiError } from '../api'
import type { ModelOptions } from '../key-api'
import { type Kind, readPictures, type Values } from '../playground-request'
import { keyTexts } from '../texts'

const words = keyTexts.playground

interface PlaygroundFormProps {
  kind: Kind
  options: ModelOptions | undefined
  values: Values
  change(name: string, value: string): void
  pictures: readonly string[]
  setPictures(pictures: readonly string[]): void
  isRunning: boolean
  /** Whether the request is complete and its price is known. */
  isReady: boolean
  send(): void
  stop(): void
  /** The price, beside the button. */
  children: ComponentChildren
}

export function PlaygroundForm(props: PlaygroundFormProps) {
  const { kind, options, isRunning, isReady, send, stop, children } = props
  const takesPictures =
    kind === 'chat' ? (options?.input?.includes('image') ?? false) : options?.fields.includes('images')
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (isReady && !isRunning) send()
  }
  return (
    <form class="form" onSubmit={submit}>
      {kind === 'chat' && <LongText {...props} name="system" title={words.system} rows={2} />}
      <LongText {...props} name="text" title={textTitle(kind)} rows={6} isRequired />
      {kind === 'embeddings' && <small class="quiet">{words.lines}</small>}
      {takesPictures && <Pictures {...props} />}
      <div class="fields">
        <OwnFields {...props} />
      </div>
      {kind === 'chat' && (
        <details>
          <summary>{words.toolsTitle}</summary>
          <LongText {...props} name="tools" title={words.tools} rows={6} />
          <small class="quiet">{words.toolsHint}</small>
        </details>
      )}
      <p class="actions">
        {/* Each its own element: one that became another during its click would send what it has just stopped. */}
        {isRunning ? (
          <button type="button" key="stop" onClick={stop}>
            {words.stop}
          </button>
        ) : (
          <button type="submit" key="send" class="primary" disabled={!isReady}>
            {words.send}
          </button>
        )}
        <span role="status">{children}</span>
      </p>
    </form>
  )
}

function textTitle(kind: Kind): string {
  if (kind === 'chat') return words.message
  return kind === 'image' || kind === 'video' ? words.prompt : words.text
}

type OwnProps = Pick<PlaygroundFormProps, 'values' | 'change' | 'kind' | 'options'>

function LongText({
  name,
  title,
  rows,
  values,
  change,
  isRequired = false,
}: OwnProps & { name: string; title: string; rows: number; isRequired?: boolean }) {
  return (
    <label class="field">
      <span>{title}</span>
      <textarea
        name={name}
        rows={rows}
        required={isRequired}
        value={values[name] ?? ''}
        onInput={(event) => change(name, event.currentTarget.value)}
      />
    </label>
  )
}

/** The smaller fields of a kind of request. */
function OwnFields({ kind, options, values, change }: OwnProps) {
  const own = { values, change }
  if (kind === 'chat')
    return (
      <>
        <Small {...own} name="max_tokens" title={words.maxTokens} isNumber />
        <Small {...own} name="temperature" title={words.temperature} isNumber step="0.1" />
      </>
    )
  if (kind === 'speech')
    return <Small {...own} name="voice" title={words.voice} known={options?.voices} isClosed />
  if (kind === 'embeddings') {
    const { dimensions } = options ?? {}
    const known = Array.isArray(dimensions) ? dimensions.map(String) : undefined
    return <Small {...own} name="dimensions" title={words.dimensions} known={known} isNumber isClosed />
  }
  const has = (name: string) => options?.fields.includes(name) ?? false
  const { durations } = options ?? {}
  return (
    <>
      {has('n') && <Small {...own} name="n" title={words.number} isNumber />}
      {has('size') && <Small {...own} name="size" title={words.size} known={options?.sizes} />}
      {has('quality') && <Small {...own} name="quality" title={words.quality} />}
      {has('resolution') && <Small {...own} name="resolution" title={words.resolution} />}
      {has('duration') && (
        <Small
          {...own}
          name="duration"
          title={durations ? `${words.duration} (${durations.min}–${durations.max})` : words.duration}
          isNumber
        />
      )}
    </>
  )
}

interface SmallProps extends Pick<OwnProps, 'values' | 'change'> {
  name: string
  title: string
  /** Values that are known. */
  known?: readonly string[] | undefined
  /** Whether there are no others. */
  isClosed?: boolean
  isNumber?: boolean
  step?: string
}

function Small({
  name,
  title,
  known,
  isClosed = false,
  isNumber = false,
  step = '1',
  values,
  change,
}: SmallProps) {
  const value = values[name] ?? ''
  if (known && isClosed)
    return (
      <label class="field">
        <span>{title}</span>
        <select name={name} value={value} onChange={(event) => change(name, event.currentTarget.value)}>
          <option value="">{words.default}</option>
          {known.map((each) => (
            <option value={each} key={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
    )
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
        value={value}
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

function Pictures({ pictures, setPictures }: Pick<PlaygroundFormProps, 'pictures' | 'setPictures'>) {
  const [error, setError] = useState<ApiError>()
  const choose = async (files: FileList | null) => {
    try {
      setPictures(await readPictures([...(files ?? [])]))
      setError(undefined)
    } catch (fault) {
      setPictures([])
      setError(ApiError.from(fault))
    }
  }
  return (
    <div>
      <label class="field">
        <span>{words.pictures}</span>
        <input
          type="file"
          name="pictures"
          accept="image/png,image/jpeg,image/webp,image/gif"
          multiple
          onChange={(event) => void choose(event.currentTarget.files)}
        />
      </label>
      <small class="quiet">{words.picturesHint}</small>
      {error && (
        <p class="failed" role="alert">
          {error.message}
        </p>
      )}
      <p class="thumbnails">
        {pictures.map((url, index) => (
          <img src={url} alt={words.picture(index + 1)} key={url.slice(-64)} />
        ))}
      </p>
    </div>
  )
}
