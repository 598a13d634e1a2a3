// A file that a caller sent, and the parts of a form. Types only. Nothing here must hold the bytes of a file in memory by
// itself: they stay where they are until somebody reads them.

import type { PictureSize } from '../lib/file-formats/picture'

/** One part of a form: a text, or a file that the caller sent. */
export type FormPart = { name: string; value: string } | { name: string; upload: Upload }

/** A file of a form. Its bytes are on disk, or in memory for a tool; they are deleted when the request has ended. */
export interface Upload {
  filename: string
  contentType: string
  bytes: Blob
  /** The picture found in the file's bytes; undefined for anything else. */
  picture?: PictureSize | undefined
  /**
   * The audio found in the file's bytes, or video that may contain some; `seconds` is undefined if the duration is unreadable.
   */
  audio?:
    | { format: 'wav' | 'mp3' | 'mp4' | 'ogg' | 'flac' | 'webm' | 'aac'; seconds: number | undefined }
    | undefined
}

/** Files of a request as data URLs. */
export type DataUrls = ReadonlyMap<Upload, string>
