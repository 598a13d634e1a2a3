// The editor for the next turn: its text, its files, its maximum price, and the button that sends it.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api'
import type { PricedModel } from '../key-api'
import { moneyText } from '../parts/money'
import { keyTexts } from '../texts'
import { type Attachment, EMPTY_DRAFT, type Kind } from './conversation'
import { MAX_FILES, PICTURE_TYPES, readFiles, SOUND_TYPES } from './files'
import { type Quoted, useQuotes } from './quotes'
import { Recorder } from './recorder'
import type { PlaygroundState } from './state'

const words = keyTexts.playground

interface ComposerProps {
  playground: PlaygroundState
  models: readonly PricedModel[]
}

export function Composer({ playground, models }: ComposerProps) {
  const { kind } = playground.conversation.value
  const { files, edits } = playground.draft.value
  const [error, setError] = useState<ApiError>()
  const next = playground.nextTurn(null)
  const quoted = useQuotes(next, models)
  const isSound = kind === 'transcription'
  const accepts = isSound || models.some((model) => takesPictures(kind, model))
  const send = () => {
    if (quoted.priced && !isBusy(playground)) playground.send(next, quoted.priced)
  }
  const add = async (chosen: readonly File[]) => {
    if (chosen.length === 0 || !accepts) return
    try {
      addFiles(playground, await readFiles(chosen, isSound), isSound)
      setError(undefined)
    } catch (fault) {
      setError(ApiError.from(fault))
    }
  }
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
      onDragOver={(event) => accepts && event.preventDefault()}
      onDrop={(event) => {
        if (accepts) event.preventDefault()
        void add([...(event.dataTransfer?.files ?? [])])
      }}
    >
      {edits && <Editing playground={playground} />}
      <Files
        files={files}
        change={(all) => {
          playground.draft.value = { ...playground.draft.value, files: all }
        }}
        canMask={kind === 'image' && models.every(({ operations }) => operations.includes('image-edit'))}
      />
      {!isSound && <TextField playground={playground} send={send} add={(pasted) => void add(pasted)} />}
      {error && (
        <p class="failed" role="alert">
          {error.message}
        </p>
      )}
      <div class="composer-actions">
        {accepts && <FileChoice isSound={isSound} add={(chosen) => void add(chosen)} />}
        {isSound && <Recorder done={(file) => void add([file])} failed={setError} />}
        <span class="composer-price" role="status">
          <Price quoted={quoted} toWrite={isSound ? words.addSoundFirst : words.writeFirst} />
        </span>
        {/* Each its own element: one that became another during its click would send what it has just stopped. */}
        {isBusy(playground) ? (
          <button type="button" key="stop" onClick={() => playground.stop()}>
            {words.stop}
          </button>
        ) : (
          <button type="submit" key="send" class="primary" title={words.sendKeys} disabled={!quoted.priced}>
            {words.send}
          </button>
        )}
      </div>
    </form>
  )
}

function addFiles(playground: PlaygroundState, read: readonly Attachment[], isSound: boolean): void {
  const before = playground.draft.value
  const files = isSound ? read.slice(0, 1) : [...before.files, ...read].slice(0, MAX_FILES)
  playground.draft.value = { ...before, files }
}

function Editing({ playground }: { playground: PlaygroundState }) {
  return (
    <p class="quiet">
      {words.editing}{' '}
      <button
        type="button"
        class="plain"
        onClick={() => {
          playground.draft.value = EMPTY_DRAFT
        }}
      >
        {words.cancelEdit}
      </button>
    </p>
  )
}

interface TextFieldProps {
  playground: PlaygroundState
  send(): void
  add(files: readonly File[]): void
}

function TextField({ playground, send, add }: TextFieldProps) {
  const { kind } = playground.conversation.value
  const { text, edits } = playground.draft.value
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => grow(field.current), [text])
  useEffect(() => {
    if (edits) field.current?.focus()
  }, [edits])
  return (
    <textarea
      ref={field}
      name="text"
      rows={2}
      aria-label={words.fields[kind]}
      placeholder={words.placeholders[kind]}
      value={text}
      onInput={(event) => {
        playground.draft.value = { ...playground.draft.value, text: event.currentTarget.value }
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        send()
      }}
      onPaste={(event) => {
        const pasted = [...(event.clipboardData?.files ?? [])]
        if (pasted.length === 0) return
        event.preventDefault()
        add(pasted)
      }}
    />
  )
}

function FileChoice({ isSound, add }: { isSound: boolean; add(files: readonly File[]): void }) {
  return (
    <label class="button">
      {isSound ? words.addSound : words.addPictures}
      <input
        type="file"
        class="hidden"
        name="files"
        aria-label={isSound ? words.sound : words.pictures}
        accept={isSound ? SOUND_TYPES : PICTURE_TYPES}
        multiple={!isSound}
        onChange={(event) => {
          const { currentTarget: input } = event
          add([...(input.files ?? [])])
          // Lets the same file be chosen again after it was removed.
          input.value = ''
        }}
      />
    </label>
  )
}

/** Whether a request of the open conversation is running. */
export function isBusy(playground: PlaygroundState): boolean {
  return playground.conversation.value.turns.some(({ replies }) =>
    replies.some(({ state }) => state === 'running'),
  )
}

function takesPictures(kind: Kind, { operations, options }: PricedModel): boolean {
  if (kind === 'chat') return options.chat?.input?.includes('image') ?? false
  if (kind === 'image' && operations.includes('image-edit')) return true
  return (kind === 'image' || kind === 'video') && (options[kind]?.fields.includes('images') ?? false)
}

/** Maximum height of the field before it scrolls, in pixels. */
const MAX_HEIGHT = 240

function grow(field: HTMLTextAreaElement | null): void {
  if (!field) return
  field.style.height = 'auto'
  field.style.height = `${Math.min(field.scrollHeight + 2, MAX_HEIGHT)}px`
}

export function Price({ quoted, toWrite }: { quoted: Quoted; toWrite: string }): ComponentChildren {
  const { mostUsd, error, isComplete } = quoted
  if (error) return <span class="bad">{error.message}</span>
  if (!isComplete) return <span class="quiet">{toWrite}</span>
  return <span class="quiet">{mostUsd === undefined ? words.asking : words.atMost(moneyText(mostUsd))}</span>
}

interface FilesProps {
  files: readonly Attachment[]
  change(files: readonly Attachment[]): void
  /** Whether a picture may be a mask: it marks the part of another that should change. */
  canMask: boolean
}

function Files({ files, change, canMask }: FilesProps) {
  if (files.length === 0) return null
  const without = (index: number) => files.filter((_, each) => each !== index)
  return (
    <ul class="thumbnails">
      {files.map((file, index) => (
        <li key={`${index} ${file.url.slice(-32)}`}>
          {file.type.startsWith('image/') ? (
            <img src={file.url} alt={words.picture(index + 1)} />
          ) : (
            <audio controls src={file.url} aria-label={file.name} />
          )}
          {canMask && index > 0 && (
            <label class="small">
              <input
                type="checkbox"
                checked={file.isMask ?? false}
                onChange={({ currentTarget: { checked } }) =>
                  change(files.map((each, place) => ({ ...each, isMask: place === index && checked })))
                }
              />{' '}
              {words.mask}
            </label>
          )}
          <button type="button" class="plain" onClick={() => change(without(index))}>
            {words.remove}
            <span class="hidden"> {file.name}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}
