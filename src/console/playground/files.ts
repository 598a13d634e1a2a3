// Files of a turn: read when they are chosen, dropped, pasted or recorded, and sent as parts of a form.

import { ApiError } from '../api'
import { keyTexts } from '../texts'
import type { Attachment } from './conversation'

const words = keyTexts.playground

export const MAX_FILES = 4
const MAX_PICTURE_BYTES = 8_000_000
const MAX_SOUND_BYTES = 20_000_000

/** File types that a kind of work accepts, as a file field names them. */
export const PICTURE_TYPES = 'image/png,image/jpeg,image/webp,image/gif'
export const SOUND_TYPES = 'audio/*,video/mp4,video/webm'

/** Files as data URLs. Rejects with an ApiError if one has another type or is too large. */
export function readFiles(files: readonly File[], isSound: boolean): Promise<Attachment[]> {
  return Promise.all(
    files.slice(0, MAX_FILES).map(async (file) => {
      const isFit = isSound
        ? /^(audio|video)\//.test(file.type)
        : PICTURE_TYPES.split(',').includes(file.type)
      if (!isFit) throw new ApiError(isSound ? words.notSound : words.notPicture, 0, null, 'files')
      if (file.size > (isSound ? MAX_SOUND_BYTES : MAX_PICTURE_BYTES))
        throw new ApiError(isSound ? words.soundTooLarge : words.tooLarge, 0, null, 'files')
      return { name: file.name, type: file.type, url: await dataUrlOf(file) }
    }),
  )
}

export function dataUrlOf(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })
}

/** A request as a form: data URLs become files, several of one name with brackets. */
export function formDataOf(body: Readonly<Record<string, unknown>>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    const all = [value].flat()
    for (const each of all) {
      const file = fileOf(String(each))
      if (file) form.append(all.length > 1 ? `${name}[]` : name, file, `file.${extensionOf(file.type)}`)
      else form.append(name, String(each))
    }
  }
  return form
}

function fileOf(url: string): Blob | undefined {
  const [, type, base64] = /^data:([^;,]+)[^,]*;base64,(.*)$/s.exec(url) ?? []
  if (type === undefined || base64 === undefined) return undefined
  return new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], { type })
}

function extensionOf(type: string): string {
  const [, name = 'bin'] = /\/(?:x-)?([a-z0-9]+)/.exec(type) ?? []
  return name === 'mpeg' ? 'mp3' : name
}
