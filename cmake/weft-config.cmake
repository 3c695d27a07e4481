# find_package(weft) defines weft::tensor, weft::parallel, weft::data, weft::model and weft::trainer.
include(${CMAKE_CURRENT_LIST_DIR}/Dependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/weft-targets.cmake)
