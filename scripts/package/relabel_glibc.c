// relabel_glibc NEWEST FILE: in a library of this distribution, what asks for a version of a glibc function younger than NEWEST
// ("2.27") asks for the oldest one, GLIBC_2.2.5, which every glibc for x86-64 has of the functions that are as old. Code stays
// as it is, and so do the file's size and layout: only names in its table of needed versions change. Whether an older glibc has
// such a function is not looked at here; unmet_by_old_glibc of portable.bash does.
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char* file, const char* what) {
  fprintf(stderr, "relabel_glibc: %s: %s\n", file, what);
  exit(1);
}

// The hash of a version's name, as the System V ABI has it.
static unsigned elf_hash(const char* name) {
  unsigned hash = 0;
  for (; *name != 0; ++name) {
    hash = (hash << 4) + (unsigned char)*name;
    hash = (hash ^ (hash & 0xf0000000u) >> 24) & 0x0fffffffu;
  }
  return hash;
}

// Whether name is "GLIBC_MAJOR.MINOR" and younger than it; GLIBC_2.2.5 counts as 2.2.
static int is_younger(const char* name, int major, int minor) {
  int a, b;
  return sscanf(name, "GLIBC_%d.%d", &a, &b) == 2 && (a > major || (a == major && b > minor));
}

int main(int count, char** arguments) {
  static const char oldest[] = "GLIBC_2.2.5";
  int major, minor;
  if (count != 3 || sscanf(arguments[1], "%d.%d", &major, &minor) != 2) fail("usage", "relabel_glibc NEWEST FILE");
  const char* const path = arguments[2];
  FILE* const file = fopen(path, "r+b");
  if (file == NULL) fail(path, "cannot be opened for writing");
  fseek(file, 0, SEEK_END);
  const long size = ftell(file);
  rewind(file);
  char* const bytes = malloc((size_t)size + 1);
  if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) fail(path, "cannot be read");
  const Elf64_Ehdr* const header = (const Elf64_Ehdr*)bytes;
  if (size < (long)sizeof *header || memcmp(bytes, ELFMAG, SELFMAG) != 0 || bytes[EI_CLASS] != ELFCLASS64)
    fail(path, "is not a 64-bit ELF file");
  const Elf64_Shdr* const sections = (const Elf64_Shdr*)(bytes + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_GNU_verneed) continue;
    const Elf64_Shdr* const strings = &sections[sections[i].sh_link];
    const char* const names = bytes + strings->sh_offset;
    size_t at = 0;  // of oldest in names
    while (at < strings->sh_size && strcmp(names + at, oldest) != 0) at += strlen(names + at) + 1;
    char* library = bytes + sections[i].sh_offset;
    for (unsigned n = 0; n < sections[i].sh_info; ++n) {
      const Elf64_Verneed* const needed = (const Elf64_Verneed*)library;
      char* version = library + needed->vn_aux;
      for (unsigned v = 0; v < needed->vn_cnt; ++v) {
        Elf64_Vernaux* const wanted = (Elf64_Vernaux*)version;
        if (is_younger(names + wanted->vna_name, major, minor)) {
          if (at >= strings->sh_size) fail(path, "names GLIBC_2.2.5 nowhere");
          wanted->vna_name = (Elf64_Word)at;
          wanted->vna_hash = elf_hash(oldest);
        }
        version += wanted->vna_next;
      }
      library += needed->vn_next;
    }
  }
  rewind(file);
  if (fwrite(bytes, 1, (size_t)size, file) != (size_t)size || fclose(file) != 0) fail(path, "cannot be written");
  return 0;
}
