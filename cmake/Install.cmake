# Files that `cmake --install` installs below its prefix and scripts/package.sh packages:
#
#   bin/dptrain                             the executable
#   lib/dptrain/                            the modules that it opens (cmake/Onnx.cmake, cmake/Mpi.cmake)
#   share/dptrain/configs/                  complete configs
#   share/dptrain/config.schema.json        the JSON Schema of the config language, for editors
#   share/man/man1/                         manual pages
#   share/bash-completion/completions/dptrain, share/zsh/site-functions/_dptrain, share/fish/vendor_completions.d/dptrain.fish
#   share/doc/dptrain/                      docs/, LICENSE
#
# The installed executable writes manual pages, completions and schema.

# _dptrain_install_output(<file below the prefix> <argument>...): installs the output of dptrain with the arguments.
function(_dptrain_install_output file)
  list(JOIN ARGN " " arguments)
  cmake_path(GET file PARENT_PATH folder)
  install(CODE "
    set(_prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    message(STATUS \"Installing: \${_prefix}/${file}\")
    file(MAKE_DIRECTORY \"\${_prefix}/${folder}\")
    execute_process(COMMAND $<TARGET_FILE:dptrain> ${arguments} OUTPUT_FILE \"\${_prefix}/${file}\" COMMAND_ERROR_IS_FATAL ANY)")
endfunction()

function(dptrain_install)
  if(NOT TARGET dptrain)
    return()
  endif()
  install(TARGETS dptrain RUNTIME)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/dptrain)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
  if(CMAKE_CROSSCOMPILING)   # the executable does not run on this machine
    return()
  endif()
  install(CODE "execute_process(COMMAND $<TARGET_FILE:dptrain> man --quiet --output
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\" COMMAND_ERROR_IS_FATAL ANY)")
  set(share ${CMAKE_INSTALL_DATADIR})
  _dptrain_install_output(${share}/dptrain/config.schema.json config --schema)
  _dptrain_install_output(${share}/bash-completion/completions/dptrain completion bash)
  _dptrain_install_output(${share}/zsh/site-functions/_dptrain completion zsh)
  _dptrain_install_output(${share}/fish/vendor_completions.d/dptrain.fish completion fish)
endfunction()
