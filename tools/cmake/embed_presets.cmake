# cmake -DDIRECTORY=config/presets -DOUTPUT=FILE.cpp -P embed_presets.cmake
# Writes the presets and the agent profiles as text into one source file, so that the program needs no file of its own.
function(write_files name pattern)
  file(GLOB files ${pattern})
  list(SORT files)
  set(text "const EmbeddedFile k${name}[] = {\n")
  foreach(file ${files})
    get_filename_component(stem ${file} NAME_WE)
    file(READ ${file} content)
    string(APPEND text "    {\"${stem}\", R\"embedded(${content})embedded\"},\n")
  endforeach()
  string(APPEND text "};\n")
  file(APPEND ${OUTPUT} "${text}")
endfunction()

file(WRITE ${OUTPUT} "#include \"config/embedded.hpp\"\n\nnamespace warder {\nnamespace {\n")
write_files(Presets ${DIRECTORY}/*.yaml)
write_files(Profiles ${DIRECTORY}/agents/*.yaml)
file(APPEND ${OUTPUT} "}  // namespace

std::span<const EmbeddedFile> embedded_presets() { return kPresets; }
std::span<const EmbeddedFile> embedded_profiles() { return kProfiles; }

}  // namespace warder
")
